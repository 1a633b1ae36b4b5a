import { correctedAmong, refundedAmong } from "../../credit/store/changed_charges.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { noteRefunded, notGone } from "../../erasure/store/tombstones.ts";
import type { DueCorrection } from "../analytics_store.ts";
import { writeCorrections } from "./repricing.ts";

/**
 * Corrections where the ledger is in the `main` database and the calls' rows are in another: the
 * ledger's transaction notes what the rows are to become, and the note goes once they have become it.
 * Any process finishes notes, at any time, as often as it likes.
 */

/** The most notes in memory, and in one transaction. */
const batchNotes = 500;

/** Implements `AnalyticsStore.noteCorrections`. */
export async function noteCorrections(
  tx: Queryable,
  accountId: number,
  corrections: readonly DueCorrection[],
): Promise<Set<string>> {
  if (corrections.length === 0) return new Set();
  const rows = await tx.query(
    `insert into unfinished_corrections as u
       (transaction_id, account_id, charged_nanos, cost_nanos, price_version)
     select transaction_id, $1::bigint, charged, cost, version
     from json_to_recordset($2::text::json)
       as r(transaction_id text, charged bigint, cost bigint, version text)
     where ${notGone}
     order by transaction_id
     on conflict (transaction_id) do update
     set charged_nanos = excluded.charged_nanos, revision = excluded.revision,
       cost_nanos = coalesce(excluded.cost_nanos, u.cost_nanos),
       price_version = coalesce(excluded.price_version, u.price_version)
     returning transaction_id`,
    [
      accountId,
      JSON.stringify(
        corrections.map(({ transactionId, chargedNanos, costNanos, priceVersion }) => ({
          transaction_id: transactionId,
          charged: String(chargedNanos),
          cost: costNanos === undefined ? null : String(costNanos),
          version: priceVersion ?? null,
        })),
      ),
    ],
  );
  return new Set(rows.map(idOf));
}

/** Implements `AnalyticsStore.finishCorrections`; `only`: of these calls. */
export async function finishCorrections(
  main: Database,
  calls: Database,
  only?: readonly string[],
): Promise<void> {
  for (let after = "";;) {
    const notes = await main.query(
      `select transaction_id, account_id from unfinished_corrections
       where transaction_id > $1 and ($2::text[] is null or transaction_id = any($2::text[]))
       order by transaction_id limit ${batchNotes}`,
      [after, only ?? null],
    );
    for (const [accountId, its] of Map.groupBy(notes, (note) => Number(note.account_id))) {
      await finish(main, calls, accountId, its.map(idOf));
    }
    if (notes.length < batchNotes) return;
    after = idOf(notes.at(-1)!);
  }
}

/**
 * Reads the notes once it has locked the rows: whoever locks a row later writes what the ledger has
 * by then, and whoever was cut off leaves the note. The charge is the ledger's of now, since a
 * version without notes may have changed it later. A row that is gone is one of the sums of its
 * time, which retention leaves as they are.
 */
async function finish(
  main: Database,
  calls: Database,
  accountId: number,
  ids: readonly string[],
): Promise<void> {
  const notes = await calls.transaction(async (tx) => {
    await lockForWriting(tx);
    const rows = await tx.query(
      `select transaction_id, created_at::text as place, cost_nanos, charged_nanos, price_version
       from interactions where account_id = $1 and transaction_id = any($2::text[])
       order by transaction_id for update`,
      [accountId, ids],
    );
    const notes = await main.query(
      `select transaction_id, charged_nanos, cost_nanos, price_version, revision::text as revision
       from unfinished_corrections where transaction_id = any($1::text[])`,
      [ids],
    );
    const noted = new Map(notes.map((note) => [idOf(note), note]));
    const due = rows.map(idOf).filter((id) => noted.has(id));
    const refunded = await refundedAmong(main, due);
    const corrected = await correctedAmong(main, due);
    const chargeOf = (id: string) => refunded.has(id) ? 0n : corrected.get(id);
    await writeCorrections(
      tx,
      accountId,
      rows.flatMap((row) => correction(row, noted.get(idOf(row)), chargeOf(idOf(row)))),
    );
    // Its refund, if it was cut off, must not take the charge out of the sums again.
    if (refunded.size > 0) await noteRefunded(tx, [...refunded]);
    return notes;
  });
  // Locked in the order in which they are written: a correction may be writing the same ones.
  await main.query(
    `delete from unfinished_corrections where transaction_id = any(array(
       select u.transaction_id from unfinished_corrections u
       join unnest($1::text[], $2::text[]) as written (id, revision)
         on u.transaction_id = written.id and u.revision = written.revision::uuid
       order by u.transaction_id for update of u))`,
    [notes.map(idOf), notes.map(({ revision }) => String(revision))],
  );
}

function correction(row: SqlRow, note: SqlRow | undefined, charge: bigint | undefined) {
  if (!note) return [];
  const chargedNanos = charge ?? note.charged_nanos as bigint;
  // A later correction has written its own cost, or will.
  const { cost_nanos, price_version } = chargedNanos === note.charged_nanos ? note : row;
  const costNanos = (cost_nanos ?? row.cost_nanos) as bigint | null;
  const priceVersion = (price_version ?? row.price_version) as string | null;
  const call = {
    transactionId: idOf(row),
    cursor: String(row.place),
    costNanos: row.cost_nanos as bigint | null,
    chargedNanos: row.charged_nanos as bigint,
  };
  const isWritten = costNanos === call.costNanos && chargedNanos === call.chargedNanos &&
    priceVersion === row.price_version;
  return isWritten ? [] : [{ call, costNanos, chargedNanos, priceVersion }];
}

function idOf(row: SqlRow): string {
  return String(row.transaction_id);
}
