import type { Database } from "../../../src/database/database.ts";
import { type CallRow, show } from "./call_rows.ts";
import type { Deeds, MoneyDeeds } from "./exchange.ts";
import { effectMs } from "./money_operations.ts";
import type { Pause } from "./world.ts";

/** The pauses of the processes that may have let a call through. */
export type PausesOf = (row: CallRow) => readonly Pause[];

/** What accounts began with; the first one also with the credit of a first start. */
const firstCredits: ReadonlyMap<number, bigint> = new Map([
  [1, 110_000_000_000n],
  [2, 120_000_000n],
  [3, 1_000_000_000n],
]);

const firstNotes: readonly (string | null)[] = [null, "starting credit"];

/**
 * Each account has what operators granted, without what its calls were charged; every entry of the
 * ledger is a change that somebody made or belongs to a call; and closed limits let nothing through.
 */
export async function checkModel(
  database: Database,
  analytics: Database,
  rows: readonly CallRow[],
  deeds: Deeds,
  pausesOf: PausesOf,
): Promise<string[]> {
  return [
    ...await checkEntries(database, deeds),
    ...await checkBalances(database, analytics, deeds),
    ...checkClosures(rows, deeds.money, pausesOf),
  ];
}

/** Every change of credit is made once, and nothing is granted that nobody asked for. */
async function checkEntries(database: Database, { money }: Deeds): Promise<string[]> {
  const problems: string[] = [];
  const entries = await database.query(
    `select account_id, kind, amount_nanos, note, operation_id, interaction_id
     from ledger_entries where amount_nanos <> 0 or interaction_id is not null`,
  );
  const byNote = Map.groupBy(entries, ({ note }) => String(note));
  for (const change of money.credits) {
    const made = byNote.get(change.id) ?? [];
    byNote.delete(change.id);
    const isRight = made.every((entry) =>
      Number(entry.account_id) === change.accountId && entry.amount_nanos === change.nanos &&
      entry.kind === (change.nanos > 0n ? "grant" : "adjust")
    );
    if (!change.isAnswered) problems.push(`no answer to ${show(change)}`);
    if (made.length !== 1 || !isRight) problems.push(`${show(change)} made ${show(made)}`);
  }
  const settled = new Set<string>();
  for (const entry of [...byNote.values()].flat()) {
    const id = entry.interaction_id as string | null;
    if (entry.kind === "settle") {
      if (id === null || settled.has(id)) problems.push(`charged twice ${show(entry)}`);
      if ((entry.amount_nanos as bigint) > 0n) problems.push(`a charge that pays ${show(entry)}`);
      if (id !== null) settled.add(id);
    } else if (entry.kind === "adjust" && id === null) {
      problems.push(`unexplained ${show(entry)}`);
    } else if (entry.kind === "grant" && !firstNotes.includes(entry.note as string | null)) {
      problems.push(`unexplained ${show(entry)}`);
    }
  }
  return problems;
}

/** The balance is grants without charges, whichever of the sums names the charges. */
async function checkBalances(
  database: Database,
  analytics: Database,
  { money }: Deeds,
): Promise<string[]> {
  const problems: string[] = [];
  const usage = await analytics.query(
    `select account_id, sum(charged_nanos) as charged from usage_sums
     where span = 'day' and part = 'all' group by 1`,
  );
  const charged = new Map(usage.map((row) => [
    Number(row.account_id),
    BigInt(String(row.charged)),
  ]));
  for (const row of await database.query("select * from account_balances")) {
    const id = Number(row.account_id);
    const granted = money.credits.filter(({ accountId }) => accountId === id)
      .reduce((sum, { nanos }) => sum + nanos, firstCredits.get(id) ?? 0n);
    const expected = granted - (charged.get(id) ?? 0n);
    if (row.balance_nanos !== expected) problems.push(`balance, expected ${expected} ${show(row)}`);
  }
  return problems;
}

/** A process that goes on after a pause may answer a call before it hears what has changed. */
export function checkClosures(
  rows: readonly CallRow[],
  { closures }: Pick<MoneyDeeds, "closures">,
  pausesOf: PausesOf,
): string[] {
  const isAfterPause = (row: CallRow) =>
    pausesOf(row).some(({ toMs }) => row.createdMs > toMs - 100 && row.createdMs < toMs + effectMs);
  return closures.flatMap(({ what, fromMs, toMs, of }) =>
    rows.filter((row) =>
      row.createdMs > fromMs && row.createdMs < toMs && row.chargedNanos > 0n &&
      (of.accountId === undefined || row.accountId === of.accountId) &&
      (of.app === undefined || row.app === of.app) &&
      (of.keyId === undefined || row.keyId === of.keyId) &&
      !isAfterPause(row)
    ).slice(0, 3).map((row) => `${what} let a call through ${row.createdMs - fromMs} ${show(row)}`)
  );
}
