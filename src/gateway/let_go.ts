import { isRecord } from "../dialects/json.ts";

/** Members that answers repeat or are written by, and what calls are told apart by; all are small. */
const needed: ReadonlySet<string> = new Set([
  "functions",
  "generationConfig",
  "generation_config",
  "metadata",
  "model",
  "reasoning",
  "store",
  "stream",
  "text",
  "tool_choice",
  "tools",
]);

/**
 * Empties what a request holds of a conversation, once the vendor's text is made of it: whoever
 * still holds the request while the vendor works holds little, whatever it was. The values of a
 * body take many times the memory of its text.
 */
export function letGo(body: unknown): void {
  if (!isRecord(body)) return;
  for (const [name, value] of Object.entries(body)) {
    if (needed.has(name) || typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) value.length = 0;
    else for (const key of Object.keys(value)) delete (value as Record<string, unknown>)[key];
  }
}
