/** Narrows parsed JSON of unknown shape. */

export type JsonObject = Record<string, unknown>;

/** The value as an object, or null for everything else, arrays included. */
export function asObject(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as JsonObject
    : null;
}

/** The value as an array, or an empty one. */
export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The members of an array that are objects. */
export function objectsIn(value: unknown): JsonObject[] {
  return asArray(value).map(asObject).filter((item) => item !== null);
}

/** The value as a string, or the given fallback. */
export function asText(value: unknown, fallback = ""): string {
  return typeof value === "string" ? value : fallback;
}

/** The value as a number, or null. */
export function asNumber(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

/** Parsed JSON, or undefined where the text isn't JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object in `value` with every undefined member left out, as JSON would. */
export function compact<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
}
