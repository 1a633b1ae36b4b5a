import { JsonCount } from "../../base/json_count.ts";

/** Reading JSON whose shape nobody vouches for: vendors' answers and callers' loose fields. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A whole count ≥ 0; anything else is absent. */
export function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/**
 * Whether a member holds something that is no count (negative, a fraction, text, more than numbers
 * hold): who counts so has not counted, and the whole is estimated, as where nothing was reported.
 */
export function miscounts(usage: JsonRecord, ...names: readonly string[]): boolean {
  return names.some((name) => {
    const value = usage[name] ?? undefined;
    return value !== undefined && count(value) === undefined;
  });
}

/** Unix time in whole seconds; what no calendar has is absent. */
export function unixTime(value: unknown): number | undefined {
  const seconds = typeof value === "number" ? count(Math.trunc(value)) : undefined;
  return seconds === undefined || seconds > lastSecond ? undefined : seconds;
}

/** Of year 9999. */
const lastSecond = 253_402_300_799;

/** Which of several answers something is about: its index, else its position in the list. */
export function choiceIndex(value: unknown, position: number): number {
  const isIndex = Number.isInteger(value) && (value as number) >= 0 &&
    (value as number) < maxChoices;
  return isIndex ? value as number : position;
}

/** Nobody can ask for more answers than this. */
const maxChoices = 128;

/** A string with something in it. */
export function asString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

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
