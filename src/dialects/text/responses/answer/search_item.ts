import type { SearchWork } from "../../../kernel/canonical.ts";
import type { Item } from "./output_blocks.ts";

/** Another vendor's web search as an item, as its `added` event shows it (responses.md §2). */
export function newSearch({ queries = [] }: SearchWork, mint: (prefix: string) => string): Item {
  return {
    id: mint("ws_"),
    type: "web_search_call",
    status: "in_progress",
    action: { type: "search", query: queries.join(" · "), queries },
  };
}

/** What the search found. */
export function addSources(item: Item, results: NonNullable<SearchWork["results"]>): void {
  const sources = results.map(({ url }) => ({ type: "url", url }));
  item.action = { ...item.action as Item, sources };
}
