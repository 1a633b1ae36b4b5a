import { Fault } from "../../../../shared/fault.ts";
import type { JsonRecord } from "../../../kernel/json.ts";

/**
 * Reading a caller's fields: null and absent are "not set", a wrong type is the caller's error,
 * named by its path.
 */
export const field = {
  number(record: JsonRecord, name: string, path = name): number | undefined {
    const value = record[name] ?? undefined;
    if (value === undefined || typeof value === "number") return value;
    throw wrong(path, "expected a number");
  },

  boolean(record: JsonRecord, name: string, path = name): boolean | undefined {
    const value = record[name] ?? undefined;
    if (value === undefined || typeof value === "boolean") return value;
    throw wrong(path, "expected true or false");
  },

  /** An empty string is not set. */
  text(record: JsonRecord, name: string, path = name): string | undefined {
    const value = record[name] ?? undefined;
    if (value === undefined || typeof value === "string") return value || undefined;
    throw wrong(path, "expected a string");
  },
};

/** The fault of a field with a wrong shape; the message begins with the field's path. */
export function wrong(path: string, problem: string): Fault {
  return new Fault("invalid_value", { param: path, message: `${path}: ${problem}.` });
}

/** The fault of a field that must be there. */
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
