/** Reading JSON whose shape nobody vouches for: vendors' answers and callers' loose fields. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A whole count ≥ 0; anything else is absent. A negative count is a vendor's error, read as 0. */
export function count(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Math.max(0, Math.trunc(value));
}

/** A string with something in it. */
export function words(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
