import { invalidValue, missingField } from "../../shared/fault.ts";
import { isRecord, type JsonRecord } from "./json.ts";

/*
 * Reading a caller's fields: null and absent are "not set"; a value of a wrong type is the caller's
 * error, named by the field's path. `within` is the path of the record, empty for the body itself.
 */

export function numberAt(record: JsonRecord, name: string, within = ""): number | undefined {
  const value = record[name] ?? undefined;
  if (value === undefined || typeof value === "number") return value;
  throw invalidValue(memberPath(name, within), "expected a number");
}

export function booleanAt(record: JsonRecord, name: string, within = ""): boolean | undefined {
  const value = record[name] ?? undefined;
  if (value === undefined || typeof value === "boolean") return value;
  throw invalidValue(memberPath(name, within), "expected true or false");
}

/** Reads an optional string; an empty one counts as not set. */
export function textAt(record: JsonRecord, name: string, within = ""): string | undefined {
  const value = record[name] ?? undefined;
  if (value === undefined || typeof value === "string") return value || undefined;
  throw invalidValue(memberPath(name, within), "expected a string");
}

export function objectAt(record: JsonRecord, name: string, within = ""): JsonRecord | undefined {
  const value = record[name] ?? undefined;
  if (value === undefined || isRecord(value)) return value;
  throw invalidValue(memberPath(name, within), "expected an object");
}

/** A required string, which may be empty. */
export function stringAt(record: JsonRecord, name: string, within = ""): string {
  const value = record[name] ?? undefined;
  if (typeof value === "string") return value;
  const path = memberPath(name, within);
  throw value === undefined ? missingField(path) : invalidValue(path, "expected a string");
}

/** A required string that is not empty. */
export function requiredText(record: JsonRecord, name: string, within = ""): string {
  const text = textAt(record, name, within);
  if (text === undefined) throw missingField(memberPath(name, within));
  return text;
}

/** Reads a list of strings; an empty one counts as not set. */
export function stringsAt(value: unknown, path: string): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) {
    throw invalidValue(path, "expected an array of strings");
  }
  return value.length === 0 ? undefined : value;
}

export function memberPath(name: string, within: string): string {
  return within === "" ? name : `${within}.${name}`;
}

export function oneOf<Value extends string>(
  value: string | undefined,
  allowed: readonly Value[],
  path: string,
): Value | undefined {
  const found = allowed.find((one) => one === value);
  if (found !== undefined || value === undefined) return found;
  throw invalidValue(path, `expected one of ${allowed.join(", ")}`);
}

/** `["messages", 0, "content"]` as `messages[0].content`. */
export function formatPath(path: readonly (string | number)[]): string {
  return path.map((step, index) =>
    typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`
  ).join("");
}

/** `{key: value}`, or `{}` where the value is undefined. */
export function optionalField<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { [K in Key]?: Value } {
  return value === undefined ? {} : { [key]: value } as { [K in Key]?: Value };
}
