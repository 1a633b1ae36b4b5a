import { type Deletion, totalOf } from "./deletion.ts";

/** Returns a deletion as its account sees it: its progress and, once it is done, its receipt. */
export function deletionBody(deletion: Deletion) {
  const { counts, reason, completedAt } = deletion;
  return {
    request_id: deletion.deletionId,
    state: deletion.state,
    deleted_count: totalOf(counts),
    expected_count: deletion.expectedCount,
    counts,
    attempts: deletion.attempts,
    requested_at: deletion.requestedAt.toISOString(),
    receipt: completedAt === null ? null : {
      counts,
      selectors_hash: deletion.selectorsHash,
      reason,
      completed_at: completedAt.toISOString(),
    },
  };
}
