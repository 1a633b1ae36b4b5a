import type { Turn } from "../../../kernel/canonical_request.ts";
import { invalidValue } from "../../../../shared/fault.ts";

/**
 * Requires an output after every tool call and a call before every output: vendors refuse other
 * conversations, with errors that don't name the cause.
 */
export function requirePairs(turns: readonly Turn[]): void {
  const open = new Map<string, string>();
  const called = new Set<string>();
  for (const part of turns.flatMap((turn) => turn.parts)) {
    if (part.type === "tool-call") {
      called.add(part.id);
      open.set(part.id, part.path);
    } else if (part.type === "tool-result") {
      if (!called.has(part.callId)) {
        throw invalidValue(
          part.path,
          `no tool call found for the output with call_id '${part.callId}'`,
        );
      }
      open.delete(part.callId);
    }
  }
  const [first] = open.values();
  if (first === undefined) return;
  const ids = [...open.keys()].map((id) => `'${id}'`).join(", ");
  throw invalidValue(first, `no tool output found for the tool calls ${ids}`);
}
