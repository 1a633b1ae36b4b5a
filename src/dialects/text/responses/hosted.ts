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
  unknownCost,
  type VendorState,
} from "../../kernel/hosted.ts";
import { asList, asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { framesOf, imageTokens } from "../../kernel/image_tokens.ts";
import { fetchedTokenBound } from "../../../shared/token_estimate.ts";
import type { Steps } from "../../../base/steps.ts";
import { codingTool } from "./request/coding_tools.ts";

/**
 * The cost of tools (npm openai 7.57.0, `responses.Tool`; xAI's from docs.x.ai, "Tools Pricing").
 * The price of a tool that isn't listed is unknown.
 */
const costs: Readonly<Record<string, ToolCost>> = {
  // Run by the caller, or billed by their tokens.
  function: noCost,
  custom: noCost,
  namespace: noCost,
  tool_search: noCost,
  computer: noCost,
  computer_use: noCost,
  computer_use_preview: noCost,
  mcp: noCost,
  // Run by the vendor.
  web_search: perUse("perWebSearch"),
  web_search_2025_08_26: perUse("perWebSearch"),
  web_search_preview: perUse("perWebSearch"),
  web_search_preview_2025_03_11: perUse("perWebSearch"),
  x_search: perUse("perXSearch"),
  file_search: perUse("perFileSearch"),
  collections_search: perUse("perFileSearch"),
  code_interpreter: perUse("perCodeSession"),
  code_execution: perUse("perCodeSession"),
  // In a container of the vendor.
  shell: perUse("perCodeSession"),
};

/** Maximum number of output tokens of one use of the image tool: no image has more. */
const imageToolTokens = 16_384;

/** The model of an image tool that names none (npm openai 7.57.0). */
export const defaultImageModel = "gpt-image-2.6-sunburst";

export function* hostedWork(body: unknown): Steps<HostedWork> {
  const request = asRecord(body);
  const tools: HostedTool[] = [];
  const state = aggregatorState(request);
  for (const name of ["conversation", "prompt"]) {
    if (isSet(request[name])) state.push({ path: name });
  }
  const search: StateSearch = { state, elements: 0 };
  yield* readTools(request.tools, "tools", tools, search);
  const fetchedTokens = yield* readItems(request.input, tools, search);
  checkToolCount(tools);
  const { maxUses } = limitOf(request.max_tool_calls);
  const tier = namedAt("service_tier", request.service_tier);
  return {
    tools: [...tools, ...aggregatorTools(request)],
    state,
    ...(maxUses === undefined ? {} : { maxUses }),
    ...(tier && { tier }),
    ...(fetchedTokens > 0 && { fetchedTokens }),
  };
}

function* readTools(
  list: unknown,
  at: string,
  tools: HostedTool[],
  search: StateSearch,
): Steps<void> {
  for (const [index, tool] of asList(list).entries()) {
    if (endsStep(search)) yield;
    if (!isRecord(tool)) continue;
    const path = `${at}[${index}]`;
    tools.push(readTool(tool, path));
    stateOfTool(tool, path, search.state);
    // Only namespaces contain tools.
    yield* readTools(tool.tools, `${path}.tools`, tools, search);
  }
}

function readTool(tool: JsonRecord, path: string): HostedTool {
  const name = asString(tool.type) ?? "function";
  if (name === "image_generation") return imageTool(tool, path);
  if (codingTool(tool)) return { path, name, cost: noCost };
  // Larger containers cost more than the price row says.
  const cost = hasLargeContainer(tool) ? unknownCost : costIn(costs, name);
  return { path, name, cost };
}

/** Returns the image tool, whose images are billed as tokens of another model. */
function imageTool(tool: JsonRecord, path: string): HostedTool {
  const model = asString(tool.model) ?? defaultImageModel;
  // An SVG takes yet another model, whose tokens have no limit.
  const cost: ToolCost = isSet(tool.svg) || tool.output_format === "svg" ? unknownCost : {
    ...{ type: "model", model, role: "besides", maxOutputTokens: imageToolTokens },
    tokensPerPicture: framesOf(tool) * imageTokens(asString(tool.quality), asString(tool.size)),
    ...(asString(tool.model) === undefined ? { isDefault: true } : {}),
  };
  return { path, name: "image_generation", cost, maxUses: 2, tokensPerUse: imageToolTokens };
}

function hasLargeContainer({ type, container, environment }: JsonRecord): boolean {
  const settings = type === "shell" ? environment : container;
  return isRecord(settings) && !isSmallest(settings.memory_limit);
}

function isSmallest(limit: unknown): boolean {
  return limit === undefined || limit === null || limit === "1g";
}

/**
 * Adds the stores, files, containers, skills and tunnels in the vendor's account that a tool names.
 */
function stateOfTool(tool: JsonRecord, path: string, state: VendorState[]): void {
  for (const name of ["vector_store_ids", "collection_ids", "file_ids", "tunnel_id"]) {
    if (isSet(tool[name])) state.push({ path: `${path}.${name}` });
  }
  if (typeof tool.container === "string") state.push({ path: `${path}.container` });
  for (const member of ["container", "environment"]) {
    const settings = tool[member];
    if (!isRecord(settings)) continue;
    for (const name of ["container_id", "file_ids", "id"]) {
      if (isSet(settings[name])) state.push({ path: `${path}.${member}.${name}` });
    }
    // Local skills are the caller's own files.
    const skills = settings.type === "local" ? [] : asList(settings.skills);
    const stored = skills.findIndex((skill) => !isRecord(skill) || skill.type !== "inline");
    if (stored >= 0) state.push({ path: `${path}.${member}.skills[${stored}]` });
  }
  const mask = tool.input_image_mask;
  if (isRecord(mask) && isSet(mask.file_id)) {
    state.push({ path: `${path}.input_image_mask.file_id` });
  }
}

/**
 * Adds the files and containers that items name, and the tools that items add. Returns the maximum
 * number of tokens of the media that the vendor fetches.
 */
function* readItems(
  input: unknown,
  tools: HostedTool[],
  search: StateSearch,
): Steps<number> {
  let fetchedTokens = 0;
  for (const [index, item] of asList(input).entries()) {
    if (endsStep(search)) yield;
    if (!isRecord(item)) continue;
    const path = `input[${index}]`;
    if (item.type === "additional_tools" || item.type === "tool_search_output") {
      yield* readTools(item.tools, `${path}.tools`, tools, search);
    }
    for (const name of ["content", "output"]) {
      fetchedTokens += yield* filesIn(item[name], `${path}.${name}`, search);
    }
    // A code tool would continue in this container.
    if (isSet(item.container_id)) search.state.push({ path: `${path}.container_id` });
  }
  return fetchedTokens;
}

/**
 * Adds the files in parts of messages and of tool outputs; returns the maximum number of tokens of
 * the media that the vendor fetches. Files that citations name aren't read again.
 */
function* filesIn(parts: unknown, path: string, search: StateSearch): Steps<number> {
  let fetchedTokens = 0;
  for (const [index, part] of asList(parts).entries()) {
    if (endsStep(search)) yield;
    if (!isRecord(part)) continue;
    const at = Array.isArray(parts) ? `${path}[${index}]` : path;
    if (isSet(part.file_id)) search.state.push({ path: `${at}.file_id` });
    fetchedTokens += fetchedTokenBound(part.image_url, "image") +
      fetchedTokenBound(part.file_url, "file");
  }
  return fetchedTokens;
}

function isSet(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return false;
  return !Array.isArray(value) || value.length > 0;
}
