import { maxPastClaims, type SettledCall } from "../../shared/interaction.ts";
import type { Queryable } from "../../database/database.ts";
import { credit, lockAccounts, refundOperation, releaseLease } from "./ledger.ts";

/**
 * Returns the rows as they are to be charged. Where completed calls answered the same request,
 * since a process died before its answer was stored or the store was away, only the first to be
 * written is charged; the others cost their account nothing, whatever price they get later. Part of
 * the transaction that posts the charges, and safe to repeat.
 */
export async function chargeOnce(
  tx: Queryable,
  rows: readonly SettledCall[],
): Promise<readonly SettledCall[]> {
  // An answer of the response cache costs nothing at any price.
  const repeatable = rows.filter((row) =>
    row.repeat && row.status === "completed" && row.mode === "managed" && row.cache !== "hit"
  );
  if (repeatable.length === 0) return rows;
  const second = new Set<string>();
  // In sequence, since two calls of one request may be among them.
  for (const chunk of withoutRepetition(repeatable)) {
    await claimAfterwards(tx, chunk);
    for (const id of await chargedElsewhere(tx, chunk)) second.add(id);
  }
  if (second.size === 0) return rows;
  await lockAccounts(tx, [...new Set(rows.map(({ accountId }) => accountId))]);
  for (const { transactionId, accountId, leaseId, chargedNanos } of rows) {
    if (!second.has(transactionId)) continue;
    await credit(tx, "adjust", accountId, 0n, {
      note: "the same request was charged as another call",
      operationId: refundOperation(transactionId),
      interactionId: transactionId,
    });
    if (leaseId === undefined) continue;
    const operationId = `not-charged:${transactionId}`;
    await releaseLease(tx, { accountId, leaseId, amountNanos: chargedNanos, operationId });
  }
  return rows.map((row) => second.has(row.transactionId) ? { ...row, chargedNanos: 0n } : row);
}

/** As long as answers are held for repeats. */
const heldHours = 24;

/**
 * Makes the claims of calls that went on without one, as if their processes had died: a call that
 * answers the same request, or has answered it, is found by them. A call that is charged already
 * stays so.
 */
async function claimAfterwards(tx: Queryable, rows: readonly SettledCall[]): Promise<void> {
  if (rows.every(({ repeat }) => repeat!.fingerprint === undefined)) return;
  // Rows are locked in the order in which other writers lock them, before new ones are added.
  await tx.query(
    `with called as (
       select * from json_to_recordset($1::text::json) as r(transaction_id text,
         account_id bigint, created_at timestamptz, key text, claim_id text, fingerprint text)
     ), locked as (
       select key from replays where key in (select key from called) order by key for update
     )
     insert into replays (key, account_id, fingerprint, claim_id, holder, until, transaction_id)
     select c.key, c.account_id, c.fingerprint, c.claim_id, '',
       least(c.created_at, clock_timestamp()), c.transaction_id
     from called c
     where c.fingerprint is not null and (select count(*) from locked) >= 0
       and c.created_at > clock_timestamp() - interval '${heldHours} hours'
       and not exists (select from ledger_entries e
         where e.interaction_id = c.transaction_id and e.kind = 'settle')
     order by c.key
     on conflict (key) do update
     set past_claims = array_append(replays.past_claims, excluded.claim_id)
     where replays.fingerprint = excluded.fingerprint
       and excluded.claim_id <> all(array_append(replays.past_claims, replays.claim_id))
       and cardinality(replays.past_claims) < ${maxPastClaims}
       and (replays.status is null or replays.until > excluded.until)`,
    [JSON.stringify(rows.map(({ transactionId, accountId, createdAt, repeat }) => ({
      transaction_id: transactionId,
      account_id: accountId,
      created_at: createdAt.toISOString(),
      key: repeat!.key,
      claim_id: repeat!.claimId,
      fingerprint: repeat!.fingerprint,
    })))],
  );
}

/**
 * Notes which call of a request is charged; returns the calls whose request was charged as another,
 * or had been when they were written before: an erasure since then may have taken the claims.
 */
async function chargedElsewhere(tx: Queryable, rows: readonly SettledCall[]): Promise<string[]> {
  const claims = rows.map(({ transactionId, repeat }) => ({
    transaction_id: transactionId,
    key: repeat!.key,
    claim_id: repeat!.claimId,
    refund: refundOperation(transactionId),
  }));
  const found = await tx.query(
    `with claims as (
       select * from json_to_recordset($1::text::json)
         as r(transaction_id text, key text, claim_id text, refund text)
     ), free as (
       select c.transaction_id from claims c join ledger_entries e on e.operation_id = c.refund
       where not exists (select from ledger_entries s
         where s.interaction_id = c.transaction_id and s.kind = 'settle')
     ), locked as (
       select p.key, p.charged_claim, c.transaction_id, c.claim_id
       from replays p join claims c on c.key = p.key
       where (p.claim_id = c.claim_id or c.claim_id = any(p.past_claims))
         and c.transaction_id not in (select transaction_id from free)
       order by p.key for update of p
     ), noted as (
       update replays p set charged_claim = l.claim_id from locked l
       where p.key = l.key and l.charged_claim is null
     )
     select transaction_id from locked where charged_claim <> claim_id
     union all select transaction_id from free`,
    [JSON.stringify(claims)],
  );
  return found.map(({ transaction_id }) => String(transaction_id));
}

/** Splits the rows into chunks, none of which has two rows of one key. */
function withoutRepetition(rows: readonly SettledCall[]): SettledCall[][] {
  const chunks: SettledCall[][] = [];
  const seen = new Map<string, number>();
  for (const row of rows) {
    const at = seen.get(row.repeat!.key) ?? 0;
    seen.set(row.repeat!.key, at + 1);
    (chunks[at] ??= []).push(row);
  }
  return chunks;
}
