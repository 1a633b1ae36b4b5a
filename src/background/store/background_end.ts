import type { SettledCall } from "../../shared/interaction.ts";
import type { Queryable } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/**
 * Ends the background calls among the rows, in the transaction that writes these. Returns the
 * transaction ids of calls whose answer is dropped: cancelled or deleted before, erased, or
 * recorded by another process.
 */
export async function endBackground(
  tx: Queryable,
  rows: readonly SettledCall[],
): Promise<ReadonlySet<string>> {
  const unwanted = new Set<string>();
  for (const settled of rows) {
    if (!settled.retained?.background) continue;
    const { accountId, transactionId } = settled;
    const { responseId, state, answerText } = settled.retained.background;
    const [row] = await tx.query(
      `update background_calls set request = null, body = null, claimed_by = null, claimed_until = null,
         answer = case when ${isOpen} then $4 else answer end,
         state = case when ${isOpen} then $3 else state end
       where account_id = $1 and response_id = $2 and request is not null returning state`,
      [
        accountId,
        sanitizeText(responseId),
        state,
        answerText === null ? null : sanitizeText(answerText),
      ],
    );
    if (row?.state !== state) unwanted.add(transactionId);
  }
  return unwanted;
}

const isOpen = "state in ('queued', 'in_progress')";

/** Removes calls that were erased before they were recorded, so that they aren't made again. */
export async function dropBackground(
  tx: Queryable,
  transactionIds: readonly string[],
): Promise<void> {
  await tx.query("delete from background_calls where transaction_id = any($1::text[])", [
    transactionIds,
  ]);
}
