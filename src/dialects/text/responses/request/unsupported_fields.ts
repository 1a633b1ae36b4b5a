import type { LossWeight, UnsupportedField } from "../../../kernel/canonical_request.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { knownFields } from "../known_fields.ts";

/** Fields that change the answer's meaning. */
const meanings: ReadonlySet<string> = new Set([
  "background",
  "conversation",
  "prompt",
  // Not fields of this dialect, but callers who send them rely on them.
  "stop",
  "n",
  "logit_bias",
]);

/**
 * The fields of a request that other dialects can't express. `limitsSearches`: `max_tool_calls`
 * applies to the web search, which is carried.
 */
export function unsupportedFields(request: JsonRecord, limitsSearches = false): UnsupportedField[] {
  const fields = Object.entries(request).flatMap(([path, value]): UnsupportedField[] => {
    if (Object.hasOwn(knownFields, path) || isNoOp(path, value)) return [];
    if (path === "max_tool_calls" && limitsSearches) return [];
    return [{ path, value, weight: weightOf(path) }];
  });
  return [...fields, ...unsupportedIncludes(request), ...unsupportedReasoning(request.reasoning)];
}

function weightOf(path: string): LossWeight {
  return meanings.has(path) ? "meaning" : "hint";
}

function isNoOp(path: string, value: unknown): boolean {
  if (value === null || value === undefined || value === false) return true;
  switch (path) {
    case "truncation":
      return value === "disabled";
    case "background_options":
      // The contract lets only those through that change nothing.
      return true;
    case "top_logprobs":
      // Read together with `include`, which requests log-probabilities; 0 requests none.
      return true;
    case "n":
      return value === 1;
    case "frequency_penalty":
    case "presence_penalty":
      return value === 0;
    case "context_management":
    case "stop":
      return Array.isArray(value) && value.length === 0;
    case "logit_bias":
      return isRecord(value) && Object.keys(value).length === 0;
  }
  return false;
}

const carried: ReadonlySet<unknown> = new Set([
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
  "web_search_call.action.sources",
]);

/**
 * Extras of vendor-side tools. Sealed reasoning and the sources of searches are always returned.
 */
function unsupportedIncludes(request: JsonRecord): UnsupportedField[] {
  if (!Array.isArray(request.include)) return [];
  return request.include.flatMap((value: unknown, index): UnsupportedField[] =>
    carried.has(value) ? [] : [{ path: `include[${index}]`, value, weight: "hint" }]
  );
}

function unsupportedReasoning(reasoning: unknown): UnsupportedField[] {
  if (!isRecord(reasoning)) return [];
  const noOps = { mode: "standard", context: "auto" };
  return Object.entries(noOps).flatMap(([name, noOp]): UnsupportedField[] => {
    const value = reasoning[name];
    if (value === null || value === undefined || value === noOp) return [];
    return [{ path: `reasoning.${name}`, value, weight: "hint" }];
  });
}
