import { JsonCount } from "../../base/json_count.ts";

/** What JSON text within a field may hold; each text for itself. */
const limits = { values: 100_000, depth: 128, members: 10_000, names: 10_000 } as const;

/**
 * Parses JSON that stands as text in a field, such as a call's arguments: what is within a string
 * wasn't counted with the body around it. Undefined when it is none, or holds too much.
 */
export function innerJson(text: string): unknown {
  if (new JsonCount(limits).add(text) !== undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
