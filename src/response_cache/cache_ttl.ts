import { invalidValue } from "../shared/fault.ts";

const longestSeconds = 86_400;

/** The form of a lifetime in seconds, for error messages. */
export const cacheTtlForm = `a whole number of seconds from 1 to ${longestSeconds}`;

/** Parses seconds from 1 to 86,400; undefined for any other text. */
export function readCacheTtl(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined;
  const seconds = Number(text);
  return seconds >= 1 && seconds <= longestSeconds ? seconds : undefined;
}

/**
 * Returns for how many seconds a call's answer may be reused: `X-Cache-TTL`, else the key's own
 * setting. Undefined if the call doesn't use the cache. Throws `invalid_value`.
 */
export function cacheTtlOf(
  header: string | undefined,
  ofKey: number | undefined,
): number | undefined {
  const text = header?.trim();
  if (text === undefined) return ofKey;
  if (text === "0") return undefined;
  const seconds = readCacheTtl(text);
  if (seconds !== undefined) return seconds;
  throw invalidValue("X-Cache-TTL", `expected ${cacheTtlForm}, or 0 for none`);
}
