import { aggregatorState, aggregatorTools } from "../../kernel/aggregator.ts";
import {
  checkToolCount,
  costIn,
  endsStep,
  type HostedTool,
  type HostedWork,
  limitOf,
  namedAt,
  noCost,
  perUse,
  type StateSearch,
  type ToolCost,
} from "../../kernel/hosted.ts";
import { asList, asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { flatMapInSteps, type Steps } from "../../../base/steps.ts";
import { blocksOfMessage, type OfferedTool } from "./request/decode_tools.ts";
import { fetchedTokenBound } from "../../../shared/token_estimate.ts";

/**
 * The cost of tools, by their type without its date (npm @anthropic-ai/sdk 1.14.0,
 * `BetaToolUnion`). The price of a tool that isn't listed is unknown.
 */
const costs: Readonly<Record<string, ToolCost>> = {
  // Run by the caller.
  custom: noCost,
  bash: noCost,
  text_editor: noCost,
  memory: noCost,
  computer: noCost,
  computer_toolset: noCost,
  browser_toolset: noCost,
  // Run by the vendor and billed by their tokens.
  web_fetch: noCost,
  tool_search_tool_bm25: noCost,
  tool_search_tool_regex: noCost,
  mcp_toolset: noCost,
  // Billed per use.
  web_search: perUse("perWebSearch"),
  code_execution: perUse("perCodeSession"),
};

/** Web tools of this version or later include code execution free of charge. */
const codeIncludedFrom = 20260209;
/** Prompt tokens of a fetched page, unless the caller limits them. */
const pageTokens = 32_000;
/** Output tokens of an advisor, unless the caller limits them. */
const adviceTokens = 8_192;

export function* hostedWork(body: unknown): Steps<HostedWork> {
  const request = asRecord(body);
  const offered = [
    ...asList(request.tools).flatMap((tool, index) =>
      isRecord(tool) ? [{ tool, path: `tools[${index}]` }] : []
    ),
    ...yield* addedTools(request.messages),
  ];
  const includesCode = offered.some(({ tool }) => {
    const { name, date } = nameAndDate(tool);
    return (name === "web_search" || name === "web_fetch") && date >= codeIncludedFrom;
  });
  checkToolCount(offered);
  const tools = offered.map(({ tool, path }) => readTool(tool, path, includesCode));
  const state = aggregatorState(request);
  if (request.container !== null && request.container !== undefined) {
    state.push({ path: "container" });
  }
  const { billing_policy: billing } = request;
  // The vendor would bill a customer of the account's owner.
  if (isRecord(billing) && (billing.bill_to ?? "self") !== "self") {
    state.push({ path: "billing_policy.bill_to" });
  }
  const search: StateSearch = { state, elements: 0 };
  const fetchedTokens = (yield* filesIn(request.system, "system", search, 0)) +
    (yield* filesIn(request.messages, "messages", search, 0));
  const tier = namedAt("speed", request.speed) ?? namedAt("service_tier", request.service_tier);
  return {
    tools: [...tools, ...fallbacks(request.fallbacks), ...aggregatorTools(request)],
    state,
    ...regionOf(request),
    ...(tier && { tier }),
    ...(fetchedTokens > 0 && { fetchedTokens }),
  };
}

/** Returns the tools that the conversation adds (`tool_addition`). */
function addedTools(messages: unknown): Steps<OfferedTool[]> {
  return flatMapInSteps(
    asList(messages),
    (message, at) =>
      blocksOfMessage(message, at).flatMap(({ block, path }) => {
        if (block.type !== "tool_addition" || !isRecord(block.tool)) return [];
        const { definition } = block.tool;
        return isRecord(definition) ? [{ tool: definition, path: `${path}.tool.definition` }] : [];
      }),
    1,
  );
}

/** Splits a type such as `web_search_20260318` into its name and its date. */
function nameAndDate(tool: unknown): { name: string; date: number } {
  const type = isRecord(tool) ? asString(tool.type) ?? "custom" : "custom";
  const dated = /^(.*)_(\d{8})$/.exec(type);
  return dated ? { name: dated[1]!, date: Number(dated[2]) } : { name: type, date: 0 };
}

function readTool(tool: JsonRecord, path: string, includesCode: boolean): HostedTool {
  const { name } = nameAndDate(tool);
  const limit = limitOf(tool.max_uses);
  const shown = { path, name: asString(tool.type) ?? "custom" };
  if (name === "advisor") {
    const cost: ToolCost = {
      type: "model",
      model: asString(tool.model) ?? "",
      role: "besides",
      maxOutputTokens: limitOf(tool.max_tokens).maxUses ?? adviceTokens,
    };
    return { ...shown, cost, ...limit };
  }
  const cost = name === "code_execution" && includesCode ? noCost : costIn(costs, name);
  if (name !== "web_fetch") return { ...shown, cost, ...limit };
  const tokensPerUse = limitOf(tool.max_content_tokens).maxUses ?? pageTokens;
  return { ...shown, cost, ...limit, tokensPerUse };
}

/**
 * Returns the models that answer if another one refuses; the output of the refusing model is billed
 * too.
 */
function fallbacks(list: unknown): HostedTool[] {
  return asList(list).flatMap((one, index): HostedTool[] => {
    const model = isRecord(one) ? asString(one.model) : asString(one);
    if (model === undefined) return [];
    const path = `fallbacks[${index}]`;
    const cost: ToolCost = { type: "model", model, role: "besides" };
    // A fallback gets the same prompt and adds nothing to it.
    return [{ path, name: model, cost, maxUses: 1, tokensPerUse: 0 }];
  });
}

function regionOf({ inference_geo: geo }: JsonRecord): Pick<HostedWork, "region"> {
  const name = asString(geo);
  if (name === undefined || name === "global" || name === "not_available") return {};
  return { region: { path: "inference_geo", name } };
}

/**
 * Adds the blocks that read a file in the vendor's account to the state; results of its own tools
 * aren't read again. Returns the maximum number of tokens of what the vendor fetches for these
 * blocks.
 */
function* filesIn(
  value: unknown,
  path: string,
  search: StateSearch,
  depth: number,
): Steps<number> {
  let fetchedTokens = 0;
  if (depth > 4) return fetchedTokens;
  const { state } = search;
  for (const [index, one] of asList(value).entries()) {
    if (endsStep(search)) yield;
    if (!isRecord(one)) continue;
    const at = `${path}[${index}]`;
    if (isRecord(one.source) && one.source.type === "file") {
      state.push({ path: `${at}.source.file_id` });
    }
    if (isRecord(one.source)) {
      const kind = one.type === "image" ? "image" : "file";
      fetchedTokens += fetchedTokenBound(one.source.url, kind);
    }
    if (one.type === "container_upload") state.push({ path: `${at}.file_id` });
    const inner = isRecord(one.source) && one.source.type === "content"
      ? { list: one.source.content, at: `${at}.source.content` }
      : { list: one.content, at: `${at}.content` };
    if (Array.isArray(inner.list)) {
      fetchedTokens += yield* filesIn(inner.list, inner.at, search, depth + 1);
    }
  }
  return fetchedTokens;
}
