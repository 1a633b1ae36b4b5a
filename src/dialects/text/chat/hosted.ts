import { aggregatorState, aggregatorTools, namedIn } from "../../kernel/aggregator.ts";
import {
  type HostedTool,
  type HostedWork,
  namedAt,
  noCost,
  perUse,
  type ToolCost,
  unknownCost,
  type VendorState,
} from "../../kernel/hosted.ts";
import { asList, asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { fetchedTokenBound } from "../../../shared/token_estimate.ts";

/** The cost of tools, besides those of OpenRouter. The price of a tool that isn't listed is unknown. */
const toolCosts: Readonly<Record<string, ToolCost>> = {
  function: noCost,
  custom: noCost,
  web_search: perUse("perWebSearch"),
};

export function hostedWork(body: unknown): HostedWork {
  const request = asRecord(body);
  const tier = namedAt("service_tier", request.service_tier);
  const fetchedTokens = fetchedIn(request.messages);
  return {
    tools: [
      ...namedIn(request.tools, "tools", "type", toolCosts, "function"),
      ...searches(request),
      ...aggregatorTools(request),
    ],
    state: [...aggregatorState(request), ...filesOf(request.messages)],
    ...(tier && { tier }),
    ...(fetchedTokens > 0 && { fetchedTokens }),
  };
}

/**
 * Returns the searches that request fields ask for. Search models make one per call, which usage
 * doesn't report. Only the vendor knows how many sources a live search reads.
 */
function searches(request: JsonRecord): HostedTool[] {
  const found: HostedTool[] = [];
  if (isRecord(request.web_search_options)) {
    found.push({
      path: "web_search_options",
      name: "web_search_options",
      cost: perUse("perWebSearch"),
      maxUses: 1,
      unreportedSearches: 1,
    });
  }
  const live = request.search_parameters;
  if (isRecord(live) && live.mode !== "off") {
    found.push({ path: "search_parameters", name: "search_parameters", cost: unknownCost });
  }
  return found;
}

function filesOf(messages: unknown): VendorState[] {
  return asList(messages).flatMap((message, index): VendorState[] => {
    const content = asList(asRecord(message).content);
    return content.flatMap((part, at): VendorState[] => {
      const file = asRecord(part).file;
      if (!isRecord(file) || asString(file.file_id) === undefined) return [];
      return [{ path: `messages[${index}].content[${at}].file.file_id` }];
    });
  });
}

/**
 * Returns the maximum number of tokens of media that the vendor fetches. Some vendors accept more
 * kinds of media than they publish.
 */
function fetchedIn(messages: unknown): number {
  let tokens = 0;
  for (const message of asList(messages)) {
    const parts = asList(asRecord(message).content).filter(isRecord);
    // A text part may consist of an address, which the vendor doesn't fetch.
    for (const { text: _, ...media } of parts) {
      for (const [name, value] of Object.entries(media)) {
        const addresses = isRecord(value) ? [value.url, value.file_data, value.file_url] : [value];
        const kind = name === "image_url" ? "image" : "file";
        for (const address of addresses) tokens += fetchedTokenBound(address, kind);
      }
    }
  }
  return tokens;
}
