/** The messages vendor's web search: its tool, its blocks, and the text split at each passage. */
import type { ContentBlock } from "@anthropic-ai/sdk/resources/messages/messages";
import { type Exchange } from "./exchange.ts";
import { asArray, asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { invalid, require } from "./messages_problems.ts";
import { type Output } from "./model.ts";
import { type Rule } from "./rules.ts";
import { isSealOf, seal } from "./seals.ts";
import { type OfferedSearch, type Passage } from "./web_search.ts";

const needed: Rule = { is: "string", required: true };
const list: Rule = { is: "array", nullable: true };

const TOOL: Record<string, Rule> = {
  type: needed,
  name: { is: "string", required: true, oneOf: ["web_search"] },
  allowed_callers: list,
  allowed_domains: list,
  blocked_domains: list,
  cache_control: { is: "object", nullable: true },
  defer_loading: { is: "boolean" },
  max_uses: { is: "integer", nullable: true, min: 1 },
  strict: { is: "boolean" },
  user_location: { is: "object", nullable: true },
};

export function isSearchTool(tool: JsonObject): boolean {
  return /^web_search_\d{8}$/.test(asText(tool.type));
}

/** Throws a 400 Problem for a search tool that the vendor would refuse. */
export function checkSearchTool(value: unknown, path: string): void {
  const tool = require(value, TOOL, path);
  if (tool.allowed_domains && tool.blocked_domains) {
    throw invalid(path, "only one of allowed_domains and blocked_domains may be specified");
  }
  const place = asObject(tool.user_location);
  if (place && place.type !== "approximate") {
    throw invalid(`${path}.user_location.type`, "Input should be 'approximate'");
  }
}

export function offeredSearch(body: JsonObject): OfferedSearch | null {
  const tool = objectsIn(body.tools).find(isSearchTool);
  if (!tool) return null;
  const choice = asObject(body.tool_choice);
  if (choice?.type === "none") return null;
  return {
    isDemanded: choice?.name === "web_search",
    maxUses: asNumber(tool.max_uses),
    hosts: asArray(tool.allowed_domains).map((host) => asText(host)),
  };
}

/** Returns two blocks for each search: the query and its results. */
export function searchBlocks(exchange: Exchange, output: Output): ContentBlock[] {
  return output.searches.flatMap((search): ContentBlock[] => {
    const id = exchange.state.nextId("srvtoolu_");
    return [
      {
        type: "server_tool_use",
        id,
        name: "web_search",
        input: { query: search.query },
        caller: { type: "direct" },
      },
      {
        type: "web_search_tool_result",
        tool_use_id: id,
        caller: { type: "direct" },
        content: search.pages.map(({ url, title }) => ({
          type: "web_search_result",
          url,
          title,
          encrypted_content: seal("search", url),
          page_age: null,
        })),
      },
    ];
  });
}

/** Checks that the pages of a result block carry this vendor's seals, unchanged. */
export function checkResultBlock(block: JsonObject, path: string): void {
  objectsIn(block.content).forEach((found, index) => {
    if (isSealOf(found.encrypted_content, "search", asText(found.url))) return;
    throw invalid(
      `${path}.content.${index}`,
      "Invalid `encrypted_content` in `search_result` block",
    );
  });
}

/** Returns the ids of the searches in a message, to which its thinking is bound. */
export function searchIds(blocks: readonly JsonObject[]): string {
  return blocks.filter((block) => block.type === "server_tool_use").map(({ id }) => asText(id))
    .join(",");
}

/** Splits the text into blocks: each passage is one, with its sources. */
export function citedBlocks(text: string, passages: readonly Passage[]): ContentBlock[] {
  const blocks: ContentBlock[] = [];
  let at = 0;
  const plain = (end: number) => {
    if (end > at) blocks.push({ type: "text", text: text.slice(at, end) } as ContentBlock);
    at = end;
  };
  for (const { start, end, pages } of passages) {
    plain(start);
    blocks.push({
      type: "text",
      text: text.slice(start, end),
      citations: pages.map(({ url, title }) => ({
        type: "web_search_result_location",
        url,
        title,
        cited_text: `What ${title} says.`,
        encrypted_index: seal("index", url),
      })),
    });
    at = end;
  }
  plain(text.length);
  return blocks;
}
