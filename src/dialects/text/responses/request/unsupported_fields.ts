import { borrowedFields } from "../../../kernel/borrowed_fields.ts";
import type { UnsupportedField } from "../../../kernel/canonical_request.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { unknownFields } from "../../../kernel/other_fields.ts";
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
 * Returns the fields of a request that other dialects can't express. `limitsSearches`:
 * `max_tool_calls` applies to the web search, which is carried.
 */
export function unsupportedFields(request: JsonRecord, limitsSearches = false): UnsupportedField[] {
  const fields = unknownFields(request, knownFields, {
    weightOf: (name) =>
      meanings.has(name) || (name === "prompt_cache_options" && prewarms(request))
        ? "meaning"
        : "hint",
    others: borrowedFields.responses,
    changesNothing: (name, value) =>
      changesNothing(name, value) || (name === "max_tool_calls" && limitsSearches),
  });
  return [
    ...fields,
    ...unsupportedGenerate(request.generate),
    ...unsupportedIncludes(request),
    ...unsupportedReasoning(request.reasoning),
  ];
}

/** Whether the prompt is only to be cached: elsewhere that would be an answer, which costs. */
function prewarms({ prompt_cache_options: options }: JsonRecord): boolean {
  return isRecord(options) && options.prewarm === true;
}

/** No output is requested; a WebSocket's frames are read before (`client_frame.ts`). */
function unsupportedGenerate(value: unknown): UnsupportedField[] {
  return value === false ? [{ path: "generate", value, weight: "meaning" }] : [];
}

function changesNothing(name: string, value: unknown): boolean {
  switch (name) {
    case "truncation":
      return value === "disabled";
    case "background":
    case "store":
      return value === false;
    case "generate":
      // The default is true; false is reported separately.
      return typeof value === "boolean";
    case "background_options":
      // The contract accepts only options that change nothing.
      return true;
    case "top_logprobs":
      // Read together with `include`, which requests log-probabilities; 0 requests none.
      return true;
    case "n":
      return value === 1;
    case "frequency_penalty":
    case "presence_penalty":
      return value === 0;
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
 * Returns the entries of `include` that can't be carried: extras of vendor-side tools. Sealed
 * reasoning and the sources of searches are always returned.
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
