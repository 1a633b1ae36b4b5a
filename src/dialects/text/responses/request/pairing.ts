import { forEachInSteps, type Steps } from "../../../../base/steps.ts";
import type { Part, Turn } from "../../../kernel/canonical_request.ts";
import { invalidValue } from "../../../../shared/fault.ts";

/**
 * Requires an output after every tool call and a call before every output: vendors refuse other
 * conversations, with errors that don't name the cause.
 */
export function* requirePairs(turns: readonly Turn[]): Steps<void> {
  const open = new Map<string, string>();
  const called = new Set<string>();
  const check = (part: Part) => {
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
  };
  for (const { parts } of turns) {
    yield* forEachInSteps(parts, check);
    yield;
  }
  const [first] = open.values();
  if (first === undefined) return;
  const ids = [...open.keys()].map((id) => `'${id}'`).join(", ");
  throw invalidValue(first, `no tool output found for the tool calls ${ids}`);
}
