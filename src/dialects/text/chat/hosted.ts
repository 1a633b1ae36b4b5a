import { aggregatorState, aggregatorTools, namedIn } from "../../kernel/aggregator.ts";
import type { Steps } from "../../../base/steps.ts";
import {
  endsStep,
  type HostedTool,
  type HostedWork,
  namedAt,
  noCost,
  perUse,
  type StateSearch,
  type ToolCost,
  unknownCost,
} from "../../kernel/hosted.ts";
import { asList, asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { fetchedTokenBound } from "../../../shared/token_estimate.ts";

/** The cost of tools, besides those of OpenRouter. The price of a tool that isn't listed is unknown. */
const toolCosts: Readonly<Record<string, ToolCost>> = {
  function: noCost,
  custom: noCost,
  web_search: perUse("perWebSearch"),
};

export function* hostedWork(body: unknown): Steps<HostedWork> {
  const request = asRecord(body);
  const tier = namedAt("service_tier", request.service_tier);
  const search: StateSearch = { state: aggregatorState(request), elements: 0 };
  const fetchedTokens = yield* filesIn(request.messages, search);
  return {
    tools: [
      ...namedIn(request.tools, "tools", "type", toolCosts, "function"),
      ...searches(request),
      ...aggregatorTools(request),
    ],
    state: search.state,
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

/**
 * Adds files in the vendor's account to the state; returns the maximum number of tokens of media
 * that the vendor fetches. Some vendors accept more kinds of media than they publish.
 */
function* filesIn(messages: unknown, search: StateSearch): Steps<number> {
  let fetchedTokens = 0;
  for (const [index, message] of asList(messages).entries()) {
    if (endsStep(search)) yield;
    for (const [at, part] of asList(asRecord(message).content).entries()) {
      if (!isRecord(part)) continue;
      const { file } = part;
      if (isRecord(file) && asString(file.file_id) !== undefined) {
        search.state.push({ path: `messages[${index}].content[${at}].file.file_id` });
      }
      for (const [name, value] of Object.entries(part)) {
        if (endsStep(search)) yield;
        // A text part may consist of an address, which the vendor doesn't fetch.
        if (name !== "text") fetchedTokens += fetchedIn(name, value);
      }
    }
  }
  return fetchedTokens;
}

function fetchedIn(name: string, value: unknown): number {
  const addresses = isRecord(value) ? [value.url, value.file_data, value.file_url] : [value];
  const kind = name === "image_url" ? "image" : "file";
  return addresses.reduce((sum: number, address) => sum + fetchedTokenBound(address, kind), 0);
}
