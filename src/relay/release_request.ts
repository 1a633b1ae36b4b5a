// Apart from the relay for its test, which needs no relay.
import { isRecord } from "../dialects/kernel/json.ts";

/**
 * Empties what a request holds of a conversation, once the vendor's text is made of it: whoever
 * still holds the request while the vendor works holds little, whatever it was. The values of a
 * body take many times the memory of its text. `needed` stays: answers are written by it.
 */
export function releaseRequest(body: unknown, needed: readonly string[]): void {
  if (!isRecord(body)) return;
  for (const [name, value] of Object.entries(body)) {
    if (needed.includes(name) || typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) value.length = 0;
    else for (const key of Object.keys(value)) delete (value as Record<string, unknown>)[key];
  }
}
