import type { InteractionListPage } from "../../../records/interaction_repository.ts";
import type { InteractionSummary, ListPosition } from "../../../shared/interaction.ts";

/** The rows of a page, and the positions of the pages before and after it. */
export interface ShownRows {
  rows: readonly InteractionSummary[];
  isFirst: boolean;
  older: ListPosition | undefined;
  newer: ListPosition | undefined;
  /** How far the calls were searched, back or forward, before the page ended early. */
  searched: { backTo: Date; upTo?: never } | { upTo: Date; backTo?: never } | undefined;
}

type ReadPage = (
  after: ListPosition | undefined,
  order: "newest" | "oldest",
) => Promise<InteractionListPage>;

/**
 * Reads the page before or after a position; without one, and if there is nothing newer, the first.
 * Pages may end early, even without rows: each leads back to the one that led to it all the same.
 */
export async function rowsFrom(
  read: ReadPage,
  { before, after }: { before: ListPosition | undefined; after: ListPosition | undefined },
): Promise<ShownRows> {
  if (after) {
    const { rows: found, next, searchedBackTo: upTo } = await read(after, "oldest");
    if (next) {
      const rows = found.toReversed();
      const older = rows.at(-1) ?? endOf(after);
      const newer = upTo ? next : rows[0];
      return { rows, isFirst: false, older, newer, searched: upTo && { upTo } };
    }
  }
  const { rows, next, searchedBackTo: backTo } = await read(before, "newest");
  const newer = before && (rows[0] ?? startOf(before));
  return { rows, isFirst: !before, older: next, newer, searched: backTo && { backTo } };
}

/** The position before all calls of a time. */
function startOf({ createdAt }: ListPosition): ListPosition {
  return { createdAt, transactionId: "" };
}

/** The position behind all calls of a time. */
function endOf({ createdAt }: ListPosition): ListPosition {
  return startOf({ createdAt: new Date(createdAt.getTime() + 1), transactionId: "" });
}
