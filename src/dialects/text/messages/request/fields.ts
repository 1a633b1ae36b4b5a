import { Fault } from "../../../../shared/fault.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";

/** Reading what a caller wrote: null means "not set", a wrong shape is named by its path. */
export function wrong(path: string, expected: string): Fault {
  return new Fault("invalid_value", { param: path, message: `${path}: ${expected}.` });
}

export function missing(path: string): Fault {
  return new Fault("missing_required_field", {
    param: path,
    message: `${path}: the field is required.`,
  });
}

/** Without the members that are undefined: an absent field was not set. */
export function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(value).filter(([, one]) => one !== undefined),
  ) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

export function numberAt(record: JsonRecord, key: string, path = key): number | undefined {
  const value = record[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number") throw wrong(path, "expected a number");
  return value;
}

export function stringAt(record: JsonRecord, key: string, path: string): string {
  const value = record[key];
  if (value === undefined || value === null) throw missing(path);
  if (typeof value !== "string") throw wrong(path, "expected a string");
  return value;
}

/** A string that may be absent; an empty one is. */
export function asStringAt(record: JsonRecord, key: string, path: string): string | undefined {
  const value = record[key];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw wrong(path, "expected a string");
  return value;
}

export function objectAt(
  record: JsonRecord,
  key: string,
  path: string,
): JsonRecord | undefined {
  const value = record[key];
  if (value === undefined || value === null) return undefined;
  if (!isRecord(value)) throw wrong(path, "expected an object");
  return value;
}
