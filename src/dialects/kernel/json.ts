import { parseExactly } from "../../base/exact_json.ts";
import { withExactIntegers } from "../../base/exact_integers.ts";
import { JsonCount } from "../../base/json_count.ts";

/** JSON of unknown shape: vendors' answers and callers' open objects. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value if it is an object, else an empty one. */
export function asRecord(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

/** The objects in an array; none of any other value. */
export function recordsIn(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The record with each member's value changed. */
export function mapMembers(
  record: JsonRecord,
  change: (value: unknown, name: string) => unknown,
): Record<string, unknown> {
  const members = Object.entries(record).map(([name, value]) => [name, change(value, name)]);
  return Object.fromEntries(members);
}

/** The value if it is a whole number ≥ 0. */
export function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/**
 * Returns a list unchanged, and a single value as a list of one. Some vendors accept a single value
 * in place of a list, so whatever is checked in a list must be checked there too.
 */
export function asList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === null || value === undefined ? [] : [value];
}

/**
 * Whether a member is set but isn't a count (negative, a fraction, text, too large). Such usage is
 * treated as unreported, and all of it is estimated.
 */
export function miscounts(usage: JsonRecord, ...names: readonly string[]): boolean {
  return names.some((name) => {
    const value = usage[name] ?? undefined;
    return value !== undefined && count(value) === undefined;
  });
}

/** Unix time in whole seconds; undefined if it is no date. */
export function unixTime(value: unknown): number | undefined {
  const seconds = typeof value === "number" ? count(Math.trunc(value)) : undefined;
  return seconds === undefined || seconds > lastSecond ? undefined : seconds;
}

/** The end of year 9999. */
const lastSecond = 253_402_300_799;

/** A non-empty string. */
export function asString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Parses a JSON text; undefined if it isn't JSON. */
export function jsonValue(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}

/** Limits for each JSON text inside a field. */
const limits = {
  values: 100_000,
  depth: 128,
  members: 10_000,
  names: 10_000,
  longNames: 0,
} as const;

/** It is parsed at once. No model writes calls with longer arguments. */
export const maxInnerUnits = 2 * 1024 * 1024;

/**
 * Parses JSON text inside a field, such as a call's arguments, which the limits on the body don't
 * cover. Integers in an object or list keep their digits. Undefined if the text isn't JSON, or
 * exceeds the limits.
 */
export function innerJson(text: string): unknown {
  if (text.length > maxInnerUnits) return undefined;
  // Most results of tools are prose, of which nothing more has to be read.
  if (!beginsJson.test(text)) return undefined;
  if (new JsonCount(limits).add(text) !== undefined) return undefined;
  return withExactIntegers(text, jsonValue(text));
}

const beginsJson = /^\s*(?:[{["]|-?\d[\d.eE+-]*\s*$|true|false|null)/;

/** A request as a JSON value and as text. */
export interface BodyAndText {
  body: unknown;
  bodyText: string;
}
