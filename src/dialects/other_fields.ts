import type { ForeignField, LossWeight } from "./canonical_request.ts";
import type { JsonRecord } from "./json.ts";

/**
 * Fields of one object of a caller's request beside those that were read, for the list of what has
 * no neutral form. Null, false and empty lists say nothing and are left out.
 */
export function otherFields(
  record: JsonRecord,
  read: readonly string[],
  path: string,
  weight: LossWeight = "hint",
): ForeignField[] {
  return Object.entries(record).flatMap(([key, value]) =>
    read.includes(key) || saysNothing(value) ? [] : [{ path: `${path}.${key}`, value, weight }]
  );
}

export function saysNothing(value: unknown): boolean {
  return value === null || value === undefined || value === false ||
    (Array.isArray(value) && value.length === 0);
}
