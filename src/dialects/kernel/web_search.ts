import type {
  CanonicalRequest,
  Loss,
  LossWeight,
  SearchField,
  SearchLocation,
  WebSearch,
} from "./canonical_request.ts";
import { invalidValue } from "../../shared/fault.ts";
import { defined } from "../../base/defined.ts";
import { stringsAt } from "./fields.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "./json.ts";
import { readCacheMark } from "./read_cache_mark.ts";
import type { Target } from "./dialect.ts";

/** Types of the search tool: in the responses dialect, and OpenRouter's in chat. */
const openTypes = /^(openrouter:)?web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/;

/** Whether a tool of a chat or responses request, or a tool choice, is the web search. */
export function isSearchType(type: unknown): boolean {
  return typeof type === "string" && type.length <= 64 && openTypes.test(type);
}

/**
 * Reads the search tool's fields, whose names chat, responses and messages share. Null is "not
 * set". Throws `invalid_value`, naming the field.
 */
export function readSearchTool(tool: JsonRecord, path: string): WebSearch {
  const paths: Partial<Record<SearchField, string>> = {};
  const note = <T>(name: SearchField, field: string, value: T | undefined): T | undefined => {
    if (value !== undefined) paths[name] = `${path}.${field}`;
    return value;
  };
  const filters = asRecord(tool.filters);
  const domains = (name: SearchField, record: JsonRecord, field: string, prefix = "") =>
    note(name, prefix + field, stringsAt(record[field], `${path}.${prefix}${field}`));
  const found = {
    allowedDomains: domains("allowedDomains", filters, "allowed_domains", "filters.") ??
      domains("allowedDomains", tool, "allowed_domains"),
    blockedDomains: domains("blockedDomains", filters, "blocked_domains", "filters.") ??
      domains("blockedDomains", tool, "blocked_domains") ??
      domains("blockedDomains", tool, "excluded_domains"),
    maxUses: note("maxUses", "max_uses", countAt(tool.max_uses, `${path}.max_uses`)),
    contextSize: note(
      "contextSize",
      "search_context_size",
      sizeAt(tool.search_context_size, `${path}.search_context_size`),
    ),
    location: note("location", "user_location", locationAt(tool.user_location)),
  };
  return {
    ...defined(found),
    ...readCacheMark(tool, path),
    demanded: false,
    path,
    paths,
  };
}

/** Reads the location, which chat nests one level deeper. */
function locationAt(value: unknown): SearchLocation | undefined {
  if (!isRecord(value)) return undefined;
  const location = isRecord(value.approximate) ? value.approximate : value;
  const found = defined({
    city: asString(location.city),
    country: asString(location.country),
    region: asString(location.region),
    timezone: asString(location.timezone),
  });
  return Object.keys(found).length === 0 ? undefined : found;
}

export function writeSearchLocation(
  location: SearchLocation | undefined,
): Record<string, unknown> | undefined {
  return location && { type: "approximate", ...location };
}

/**
 * Returns the web search to write for this target; undefined if the request has none, or if the
 * target can't search, which is a loss. The loss is a hint if there are other tools; if search is
 * the only tool or demanded, it changes the meaning.
 */
export function searchFor(
  request: CanonicalRequest,
  target: Pick<Target, "webSearch">,
  losses: Loss[],
  isAble = true,
): WebSearch | undefined {
  const search = request.webSearch;
  // If no tool may be used, nothing is lost.
  if (!search || request.toolChoice?.mode === "none") return undefined;
  if (target.webSearch !== undefined && isAble) return search;
  const isOne = request.tools.length > 0 && !search.demanded;
  losses.push({ path: search.path, weight: isOne ? "hint" : "meaning" });
  return undefined;
}

/** Reports losses for the search's fields that a target has no field for. */
export function loseSearchFields(
  search: WebSearch,
  names: readonly SearchField[],
  losses: Loss[],
): void {
  for (const name of names) {
    if (search[name] === undefined) continue;
    losses.push({ path: search.paths[name] ?? search.path, weight: weightOf[name] });
  }
}

/** Allowed sources are a condition; the rest is about quality. */
const weightOf: Readonly<Record<SearchField, LossWeight>> = {
  allowedDomains: "meaning",
  blockedDomains: "meaning",
  maxUses: "hint",
  location: "hint",
  contextSize: "hint",
};

export const searchFields = Object.keys(weightOf) as readonly SearchField[];

function countAt(value: unknown, path: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1) {
    throw invalidValue(path, "expected a whole number from 1");
  }
  return value;
}

function sizeAt(value: unknown, path: string): WebSearch["contextSize"] {
  if (value === undefined || value === null) return undefined;
  if (value === "low" || value === "medium" || value === "high") return value;
  throw invalidValue(path, "expected 'low', 'medium' or 'high'");
}
