import type { CacheMark } from "./canonical_request.ts";
import { isRecord, type JsonRecord } from "./json.ts";

/**
 * Reads the cache mark of a part, message, call or tool, under either name: `cache_control`, which
 * chat clients send too, with lifetimes of five minutes and one hour, or `prompt_cache_breakpoint`
 * (openai 7.57), with 30 minutes and 12 hours.
 */
export function readCacheMark(
  record: JsonRecord,
  path: string,
  /** False: the mark applies to another object than the one it is in. */
  isOwn = true,
): { cache?: CacheMark } {
  const { cache_control: control, prompt_cache_breakpoint: breakpoint } = record;
  if (isRecord(control) && control.type === "ephemeral") {
    const ttl = control.ttl === "1h" || control.ttl === "5m" ? control.ttl : undefined;
    return { cache: { ttl, ...(isOwn ? {} : { path: `${path}.cache_control` }) } };
  }
  if (isRecord(breakpoint) && breakpoint.mode === "explicit") {
    const ttl = breakpoint.ttl === "12h" ? "1h" : breakpoint.ttl === "30m" ? "5m" : undefined;
    return { cache: { ttl, path: `${path}.prompt_cache_breakpoint` } };
  }
  return {};
}

export function markPath(cache: CacheMark, path: string): string {
  return cache.path ?? `${path}.cache_control`;
}

/** Puts the mark of a whole message on the last of its parts that can have one. */
export function markLast<P extends { type: string }>(
  parts: readonly P[],
  mark: { cache?: CacheMark },
): P[] {
  if (!mark.cache) return [...parts];
  const last = parts.findLastIndex(({ type }) => type !== "refusal" && type !== "reasoning");
  return parts.map((part, index) => index === last ? { ...mark, ...part } : part);
}

/** The fields of a mark that a decoder reads (`other_fields.ts`). */
export const knownMark = {
  cache_control: { type: true, ttl: true },
  prompt_cache_breakpoint: { mode: true, ttl: true },
} as const;
