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
import { asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { camelCase } from "./request/fields.ts";
import { isOwnFile } from "./media.ts";

/**
 * What tools cost (npm @google/genai 3.1.0, `Tool`). The price of a tool that isn't listed is
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

export function hostedWork(body: unknown): HostedWork {
  const request = isRecord(body) ? body : {};
  const tools: HostedTool[] = [];
  const state: VendorState[] = [];
  const cached = keyOf(request, "cachedContent");
  if (cached !== undefined && asString(request[cached]) !== undefined) state.push({ path: cached });
  const list = Array.isArray(request.tools) ? request.tools : [];
  for (const [index, tool] of list.entries()) {
    if (isRecord(tool)) readTool(tool, `tools[${index}]`, tools, state);
  }
  const contents = Array.isArray(request.contents) ? request.contents : [request.contents];
  for (const [index, content] of contents.entries()) filesIn(content, `contents[${index}]`, state);
  const system = keyOf(request, "systemInstruction");
  if (system !== undefined) filesIn(request[system], system, state);
  const key = keyOf(request, "serviceTier") ?? "serviceTier";
  const tier = namedAt(key, asString(request[key])?.toLowerCase());
  return { tools, state, ...(tier && { tier }) };
}

/** Each member of a `tools` entry is a tool of its own. */
function readTool(tool: JsonRecord, at: string, tools: HostedTool[], state: VendorState[]): void {
  for (const [key, value] of Object.entries(tool)) {
    if (value === null || value === undefined) continue;
    const name = camelCase(key);
    const path = `${at}.${key}`;
    if (stateful.has(name)) state.push({ path });
    else tools.push({ path, name, cost: Object.hasOwn(costs, name) ? costs[name]! : unknownCost });
  }
}

function filesIn(content: unknown, path: string, state: VendorState[]): void {
  const parts = isRecord(content) && Array.isArray(content.parts) ? content.parts : [];
  for (const [index, part] of parts.entries()) {
    if (!isRecord(part)) continue;
    const at = `${path}.parts[${index}]`;
    const data = keyOf(part, "fileData");
    if (data !== undefined) {
      const file = part[data];
      const uri = isRecord(file) ? keyOf(file, "fileUri") : undefined;
      if (isRecord(file) && uri !== undefined && isVendorFile(file[uri])) {
        state.push({ path: `${at}.${data}.${uri}` });
      }
    }
    const response = keyOf(part, "functionResponse");
    if (response !== undefined) filesIn(part[response], `${at}.${response}`, state);
  }
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

/** The vendor's host is configurable, and addresses can be written in several ways. */
function hasFilesPath(uri: string): boolean {
  try {
    const { hostname, pathname } = new URL(uri);
    return hostname.replace(/\.$/, "").endsWith(".googleapis.com") ||
      /^\/(?:v\w+\/)files\//.test(pathname);
  } catch {
    return true;
  }
}

/** The member's name as the record spells it. */
function keyOf(record: JsonRecord, name: string): string | undefined {
  return Object.keys(record).find((key) => key === name || camelCase(key) === name);
}
