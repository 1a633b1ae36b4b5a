import type { Steps } from "../../base/steps.ts";
import type { CacheMark, CanonicalRequest, Loss } from "./canonical_request.ts";
import { markPath } from "./read_cache_mark.ts";

/**
 * Every cache mark of a request, for a dialect that has no place for them: on tools, system texts,
 * parts of turns, and parts of tools' results.
 */
export function* cacheLosses(request: CanonicalRequest): Steps<Loss[]> {
  const losses: Loss[] = [];
  const look = (one: { path: string; cache?: CacheMark }) => {
    if (one.cache === undefined) return;
    losses.push({ path: markPath(one.cache, one.path), weight: "hint" });
  };
  request.tools.forEach(look);
  if (request.webSearch) look(request.webSearch);
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
