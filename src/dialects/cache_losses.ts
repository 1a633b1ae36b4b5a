import type { CanonicalRequest, Loss, Part } from "./canonical_request.ts";

/**
 * Every cache mark of a request, for a dialect that has no place for them: on tools, system texts,
 * parts of turns, and parts of tools' results.
 */
export function cacheLosses(request: CanonicalRequest): Loss[] {
  const parts = request.turns.flatMap((turn) => turn.parts).flatMap((part): Part[] =>
    part.type === "tool-result" ? [part, ...part.parts] : [part]
  );
  return [...request.tools, ...request.system, ...parts]
    .filter((one) => "cache" in one && one.cache !== undefined)
    .map(({ path }) => ({ path: `${path}.cache_control`, weight: "hint" }));
}
