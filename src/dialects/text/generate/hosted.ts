import {
  checkToolCount,
  costIn,
  endsStep,
  type HostedTool,
  type HostedWork,
  namedAt,
  noCost,
  perUse,
  type StateSearch,
  type ToolCost,
  type VendorState,
} from "../../kernel/hosted.ts";
import { asList, asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import type { Steps } from "../../../base/steps.ts";
import { camelCase } from "./request/fields.ts";
import { isOwnFile } from "./media.ts";
import { fetchedTokenBound } from "../../../shared/token_estimate.ts";

/**
 * The cost of tools (npm @google/genai 3.1.0, `Tool`). The price of a tool that isn't listed is
 * unknown.
 */
const costs: Readonly<Record<string, ToolCost>> = {
  // Run by the caller, or billed by their tokens.
  functionDeclarations: noCost,
  computerUse: noCost,
  mcpServers: noCost,
  codeExecution: noCost,
  urlContext: noCost,
  // Billed per use.
  googleSearch: perUse("perWebSearch"),
  googleSearchRetrieval: perUse("perWebSearch"),
  googleMaps: perUse("perMapsQuery"),
};

/** Tools that search data in the vendor's account. */
const stateful: ReadonlySet<string> = new Set(["fileSearch", "retrieval"]);

export function* hostedWork(body: unknown): Steps<HostedWork> {
  const request = asRecord(body);
  const tools: HostedTool[] = [];
  const state: VendorState[] = [];
  for (const key of keysOf(request, "cachedContent")) {
    if (asString(request[key]) !== undefined) state.push({ path: key });
  }
  for (const [index, tool] of asList(request.tools).entries()) {
    if (isRecord(tool)) readTool(tool, `tools[${index}]`, tools, state);
    yield;
  }
  checkToolCount(tools);
  const search: StateSearch = { state, elements: 0 };
  let fetchedTokens = 0;
  for (const [index, content] of asList(request.contents).entries()) {
    if (endsStep(search)) yield;
    fetchedTokens += yield* filesIn(content, `contents[${index}]`, search);
  }
  for (const key of keysOf(request, "systemInstruction")) {
    fetchedTokens += yield* filesIn(request[key], key, search);
  }
  const key = keysOf(request, "serviceTier").at(0) ?? "serviceTier";
  const tier = namedAt(key, asString(request[key])?.toLowerCase());
  return { tools, state, ...(tier && { tier }), ...(fetchedTokens > 0 && { fetchedTokens }) };
}

/** Adds the tools of a `tools` entry: each of its members is a separate tool. */
function readTool(tool: JsonRecord, at: string, tools: HostedTool[], state: VendorState[]): void {
  for (const [key, value] of Object.entries(tool)) {
    if (value === null || value === undefined) continue;
    const name = camelCase(key);
    const path = `${at}.${key}`;
    if (stateful.has(name)) state.push({ path });
    else tools.push({ path, name, cost: costIn(costs, name) });
  }
}

/**
 * Adds files in the vendor's account to the state; returns the maximum number of tokens of the files
 * that the vendor fetches.
 */
export function* filesIn(
  content: unknown,
  path: string,
  search: StateSearch,
): Steps<number> {
  let fetchedTokens = 0;
  if (!isRecord(content)) return fetchedTokens;
  const { state } = search;
  for (const [index, part] of asList(content.parts).entries()) {
    if (endsStep(search)) yield;
    if (!isRecord(part)) continue;
    const at = `${path}.parts[${index}]`;
    for (const key of keysOf(part, "fileData")) {
      const file = part[key];
      if (!isRecord(file)) continue;
      for (const uri of keysOf(file, "fileUri")) {
        if (isVendorFile(file[uri])) state.push({ path: `${at}.${key}.${uri}` });
        else fetchedTokens += fetchedTokenBound(file[uri], fileKindOf(file));
      }
    }
    for (const key of keysOf(part, "functionResponse")) {
      fetchedTokens += yield* filesIn(part[key], `${at}.${key}`, search);
    }
  }
  return fetchedTokens;
}

/** Returns the kind of a file by the type that the request names, as the vendor does. */
function fileKindOf(file: JsonRecord): "image" | "file" {
  const types = keysOf(file, "mimeType").map((key) => asString(file[key]));
  return types.length === 1 && types[0]?.startsWith("image/") ? "image" : "file";
}

/**
 * Whether an address means a file in the vendor's account: at the vendor's host, by its bare name,
 * or in a bucket that the account may read.
 */
function isVendorFile(uri: unknown): boolean {
  if (typeof uri !== "string") return false;
  const trimmed = uri.trim();
  return isOwnFile(trimmed) || !/^https?:\/\//i.test(trimmed) || hasFilesPath(trimmed);
}

/**
 * Recognizes the vendor's files at other hosts: the host is configurable, and addresses can be
 * written in several ways.
 */
function hasFilesPath(uri: string): boolean {
  try {
    const { hostname, pathname } = new URL(uri);
    return hostname.replace(/\.$/, "").endsWith(".googleapis.com") ||
      /^\/(?:v\w+\/)files\//.test(pathname);
  } catch {
    return true;
  }
}

/**
 * Returns the names under which the record has the member, which may be spelled in two ways. A
 * member that is null isn't set.
 */
function keysOf(record: JsonRecord, name: string): string[] {
  return Object.keys(record).filter((key) => camelCase(key) === name && record[key] !== null);
}
