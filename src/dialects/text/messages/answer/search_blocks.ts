import { forEachInSteps, type Steps } from "../../../../base/steps.ts";
import { sha256Hex } from "../../../../base/hash.ts";
import { finish } from "../../../../base/steps.ts";
import type { SearchWork } from "../../../kernel/canonical.ts";
import { optionalField } from "../../../kernel/fields.ts";
import { promptTokens } from "../../../kernel/prompt_text.ts";
import { asRecord, asString, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import { estimateTokens } from "../../../../shared/token_estimate.ts";
import type { CountedWork } from "../../../../shared/usage.ts";

/** Reads the web search that a block reports, for other dialects. */
export function readSearchBlock(block: JsonRecord): SearchWork | undefined {
  if (block.type === "server_tool_use" && block.name === "web_search") {
    const query = asString(asRecord(block.input).query);
    return { id: asString(block.id) ?? "", queries: query === undefined ? [] : [query] };
  }
  if (block.type !== "web_search_tool_result") return undefined;
  const found = recordsIn(block.content);
  return {
    id: asString(block.tool_use_id) ?? "",
    results: found.flatMap((one) => {
      const url = asString(one.url);
      return url === undefined ? [] : [{ url, title: asString(one.title) }];
    }),
  };
}

/**
 * Counts the searches that had results, since failed ones are free, and estimates the tokens of all
 * tools' inputs and results: the model reads the latter in another pass, which only the end of a
 * stream reports.
 */
export function countWork(work: readonly unknown[]): CountedWork {
  const results = work.filter(isRecord).filter(({ type }) => /_tool_result$/.test(String(type)));
  const searches = results.filter(({ type, content }) =>
    type === "web_search_tool_result" && Array.isArray(content)
  );
  const inputs = work.filter(isRecord).filter(({ type }) => /_tool_use$/.test(String(type)))
    .map(({ input }) => JSON.stringify(asRecord(input))).filter((input) => input !== "{}");
  return {
    ...optionalField("webSearches", searches.length || undefined),
    ...optionalField("writtenTokens", estimateTokens(inputs.join("\n")) || undefined),
    ...optionalField("resultTokens", resultTokens(results) || undefined),
  };
}

/** Sealed results count as text: recorded ones have 3.6 characters a token. */
function resultTokens(results: readonly JsonRecord[]): number {
  const sealed = results.flatMap(({ content }) => recordsIn(content))
    .reduce((sum, { encrypted_content: text }) => sum + (asString(text)?.length ?? 0), 0);
  return finish(promptTokens(results.map(({ content }) => content))) + Math.ceil(sealed / 4);
}

/**
 * Returns the indexes of other vendors' searches, as `writeSearchBlocks` writes them, in an earlier
 * answer that the caller sends back.
 */
export function* unsealedSearches(content: readonly unknown[]): Steps<Set<number>> {
  const found = new Set<number>();
  const ids = new Set<unknown>();
  yield* forEachInSteps(content, (block, index) => {
    if (!isRecord(block) || block.type !== "web_search_tool_result") return;
    const results = Array.isArray(block.content) ? block.content : [];
    if (!results.some((one) => isRecord(one) && one.encrypted_content === "")) return;
    found.add(index);
    ids.add(block.tool_use_id);
  });
  if (ids.size === 0) return found;
  yield* forEachInSteps(content, (block, index) => {
    if (isRecord(block) && block.type === "server_tool_use" && ids.has(block.id)) found.add(index);
  });
  return found;
}

/** Writes another vendor's search as blocks of this dialect: the query, the results, or both. */
export function writeSearchBlocks(search: SearchWork): Record<string, unknown>[] {
  const id = searchId(search.id);
  const blocks: Record<string, unknown>[] = [];
  if (search.queries) {
    blocks.push({
      type: "server_tool_use",
      id,
      name: "web_search",
      input: { query: search.queries.join(" · ") },
      caller: { type: "direct" },
    });
  }
  if (search.results) {
    blocks.push({
      type: "web_search_tool_result",
      tool_use_id: id,
      caller: { type: "direct" },
      content: search.results.map(({ url, title }) => ({
        type: "web_search_result",
        url,
        title: title ?? url,
        // Only the vendor that searched can produce this.
        encrypted_content: "",
        page_age: null,
      })),
    });
  }
  return blocks;
}

/**
 * Returns a search id with the prefix that the dialect requires; another vendor's id is hashed into
 * one.
 */
function searchId(id: string): string {
  return /^srvtoolu_[a-zA-Z0-9_]{1,100}$/.test(id) ? id : `srvtoolu_${sha256Hex(id).slice(0, 24)}`;
}
