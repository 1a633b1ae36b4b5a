import { asArray, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { invalid } from "./openai_problems.ts";
import { type VendorState } from "./state.ts";
import { countPromptTokens } from "./tokens.ts";

/** Cached and written tokens of a prompt with marks. */
export interface Marked {
  read: number;
  written: number;
}

/** Models that take marks on parts; older ones cache by themselves. */
const TAKE_MARKS = /^gpt-(5\.[6-9]|[6-9])/;

/** Throws a 400 Problem for marks that this model doesn't take. */
export function refuseMarks(prompt: JsonObject, model: string): void {
  if (TAKE_MARKS.test(model) || !partsOf(prompt).some(isMarked)) return;
  throw invalid(
    "prompt_cache_breakpoint",
    "unsupported_parameter",
    "Unsupported parameter: 'prompt_cache_breakpoint' is not supported with this model.",
  );
}

/**
 * Counts a prompt with marks on its parts (`prompt_cache_breakpoint`, or the aggregator's
 * `cache_control`): the longest marked prefix seen before is read, the rest up to the last mark is
 * written. Null for a prompt without marks.
 */
export function countMarked(prompt: JsonObject, state: VendorState, model: string): Marked | null {
  const parts = partsOf(prompt);
  if (!parts.some(isMarked)) return null;
  let prefix = `marks of ${model} ${JSON.stringify(prompt.tools ?? null)}`;
  let total = countPromptTokens(prompt.tools ?? []);
  let marked = 0;
  let read = 0;
  for (const part of parts) {
    const { prompt_cache_breakpoint: _, cache_control: __, ...content } = part;
    total += countPromptTokens(content);
    prefix += `\n${JSON.stringify(content)}`;
    if (!isMarked(part)) continue;
    marked = total;
    if (state.isCached(prefix)) read = total;
  }
  return { read, written: marked - read };
}

function isMarked(part: JsonObject): boolean {
  return asObject(part.prompt_cache_breakpoint) !== null || asObject(part.cache_control) !== null;
}

/** Returns the parts of all messages or items. A string, or an item without parts, is one part. */
function partsOf({ messages, input }: JsonObject): JsonObject[] {
  const items = typeof input === "string"
    ? [{ content: input }]
    : objectsIn(Array.isArray(input) ? input : asArray(messages));
  return items.flatMap((item): JsonObject[] => {
    const content = item.content ?? item.output;
    if (Array.isArray(content)) return objectsIn(content);
    return [{ text: asText(content), item: JSON.stringify(item) }];
  });
}
