import type { Steps } from "../base/steps.ts";
import type { CanonicalRequest, Loss } from "./canonical_request.ts";

/**
 * Every cache mark of a request, for a dialect that has no place for them: on tools, system texts,
 * parts of turns, and parts of tools' results.
 */
export function* cacheLosses(request: CanonicalRequest): Steps<Loss[]> {
  const losses: Loss[] = [];
  const look = (one: { path: string; cache?: unknown }) => {
    if (one.cache === undefined) return;
    losses.push({ path: `${one.path}.cache_control`, weight: "hint" });
  };
  request.tools.forEach(look);
  request.system.forEach(look);
  for (const { parts } of request.turns) {
    yield;
    for (const part of parts) {
      look(part);
      if (part.type === "tool-result") part.parts.forEach(look);
    }
  }
  return losses;
}
