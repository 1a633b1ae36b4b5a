import type { Conversation, ListedItem } from "../../dialects/kernel/conversation.ts";
import { invalidValue } from "../../shared/fault.ts";

/** Which of a stored answer's input items a caller asks for. */
export interface InputItemQuery {
  order: "asc" | "desc";
  /** Id of the item after which the page begins. */
  after: string | undefined;
  limit: number;
  include: readonly string[];
}

export interface InputItemPage {
  object: "list";
  data: Readonly<ListedItem>[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

/** Returns one page of the items. Throws `invalid_value` if none of them has the id `after`. */
export function inputItemPage(
  listing: NonNullable<Conversation["listing"]>,
  { items, answerId }: { items: readonly unknown[]; answerId: string },
  { order, after, limit, include }: InputItemQuery,
): InputItemPage {
  const ids = listing.ids(items, answerId);
  const ordered = [...ids.entries()];
  if (order === "desc") ordered.reverse();
  const behind = after === undefined ? -1 : ordered.findIndex(([, id]) => id === after);
  if (after !== undefined && behind < 0) {
    throw invalidValue(
      "after",
      `no input item of this response has the id '${after.slice(0, 100)}'`,
    );
  }
  const end = behind + 1 + limit;
  const data = ordered.slice(behind + 1, end)
    .map(([index, id]) => listing.shown(items[index], id, include));
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: end < ordered.length,
  };
}
