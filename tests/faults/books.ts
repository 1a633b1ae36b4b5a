import assert from "@std/assert";
import { Secret } from "../../src/base/secret.ts";
import type { LedgerGap } from "../../src/credit/ledger.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { openDatabase } from "../../src/database/open.ts";
import type { Answer, Target } from "./load.ts";

/** What a store holds of calls once no server runs. */
export interface Books {
  /** Batch by batch, as they were written. */
  rows: {
    id: string;
    requestId: string;
    status: string;
    chargedNanos: bigint;
    endedMs: number;
    batch: bigint;
  }[];
  /** Charges as the ledger has them. */
  settles: { id: string; chargedNanos: bigint }[];
  /** The charges of all calls minus their refunds. */
  chargedNanos: bigint;
  balanceNanos: bigint;
  grantedNanos: bigint;
  leasedNanos: bigint;
  gaps: LedgerGap[];
}

export async function readBooks(dataDir: string, databaseUrl?: string): Promise<Books> {
  const database = await openDatabase(
    databaseUrl === undefined ? undefined : new Secret(databaseUrl),
    dataDir,
  );
  try {
    const rows = await database.query(
      `select transaction_id, request_id, status, charged_nanos, created_at, latency_ms,
         xmin::text::bigint as batch
       from interactions order by batch`,
    );
    const settles = await database.query(
      "select interaction_id, -amount_nanos as charged from ledger_entries where kind = 'settle'",
    );
    const [sums] = await database.query(
      `select sum(balance_nanos)::bigint as balance, sum(leased_nanos)::bigint as leased,
         (select coalesce(sum(amount_nanos), 0)::bigint from ledger_entries where kind = 'grant')
           as granted,
         (select coalesce(-sum(amount_nanos), 0)::bigint from ledger_entries
           where kind in ('settle', 'adjust')) as charged
       from account_balances`,
    );
    return {
      rows: rows.map((row) => ({
        id: String(row.transaction_id),
        requestId: String(row.request_id),
        status: String(row.status),
        chargedNanos: row.charged_nanos as bigint,
        batch: row.batch as bigint,
        endedMs: (row.created_at as Date).getTime() + Number(row.latency_ms),
      })),
      settles: settles.map((row) => ({
        id: String(row.interaction_id),
        chargedNanos: row.charged as bigint,
      })),
      chargedNanos: sums!.charged as bigint,
      balanceNanos: sums!.balance as bigint,
      grantedNanos: sums!.granted as bigint,
      leasedNanos: sums!.leased as bigint,
      gaps: await createLedger(database).check(),
    };
  } finally {
    await database.close();
  }
}

/** Every answer that was received whole is one row and one charge, no call is twice, sums agree. */
export function checkBooks(books: Books, answers: readonly Answer[]): void {
  const rows = new Map(books.rows.map((row) => [row.id, row]));
  assert.equal(rows.size, books.rows.length, "no call has two rows");
  const settles = new Map(books.settles.map((settle) => [settle.id, settle]));
  assert.equal(settles.size, books.settles.length, "no call has two charges");
  for (const { transactionId } of answers.filter(({ isFull }) => isFull)) {
    const row = rows.get(transactionId ?? "");
    if (!row) throw new Error(`${transactionId} was answered and has no row`);
    assert.equal(row.status, "completed", row.id);
    assert.ok(row.chargedNanos > 0n, `${row.id} was not charged`);
  }
  for (const { id, chargedNanos } of books.rows) {
    assert.equal(settles.get(id)?.chargedNanos ?? 0n, chargedNanos, `the charge of ${id}`);
  }
  for (const { id } of books.settles) assert.ok(rows.has(id), `a charge without a call: ${id}`);
  const charged = books.settles.reduce((sum, one) => sum + one.chargedNanos, 0n);
  assert.equal(books.balanceNanos, books.grantedNanos - charged);
  assert.deepEqual(books.gaps, []);
  assert.equal(books.leasedNanos, 0n, "all leases went back");
}

/** Ids of an export of everything, as the service itself gives it. */
export async function exportedIds({ baseUrl, key }: Target): Promise<string[]> {
  const answer = await fetch(`${baseUrl}/api/v1/exports`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ start_date: "2020-01-01T00:00:00Z" }),
  });
  assert.equal(answer.status, 200);
  const rows = await answer.json() as { transaction_id: string }[];
  return rows.map(({ transaction_id: id }) => id);
}
