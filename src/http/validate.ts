import { z } from "zod";
import { Fault } from "../domain/fault.ts";

/** Checks a value against a contract's schema; the fault names the first wrong field by path. */
export function validate<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw faultOf(result.error.issues[0]!);
}

function faultOf(issue: z.core.$ZodIssue): Fault {
  const unknown = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const param = z.core.toDotPath(unknown === undefined ? issue.path : [...issue.path, unknown]);
  const place = param === "" ? "The request body" : param;
  if (unknown !== undefined) {
    return new Fault("invalid_value", { param, message: `${place}: unknown field.` });
  }
  const missing = issue.code === "invalid_type" && issue.input === undefined;
  if (missing) {
    return new Fault("missing_required_field", {
      param,
      message: `${place}: required, expected ${aOrAn(issue.expected)}.`,
    });
  }
  return new Fault("invalid_value", { param, message: `${place}: ${expectation(issue)}.` });
}

/** What was expected, and the type of what came: never the value, which may be a prompt. */
function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `expected ${aOrAn(issue.expected)}, received ${typeName(issue.input)}`;
    case "invalid_value":
      return `expected ${issue.values.map((value) => `'${String(value)}'`).join(" or ")}`;
    case "too_small":
      return `expected ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}${
        unit(issue.origin)
      }`;
    case "too_big":
      return `expected ${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}${
        unit(issue.origin)
      }`;
    case "invalid_format":
      return formatNames[issue.format] ?? `expected the format ${issue.format}`;
    case "invalid_union":
      return "the value has none of the accepted forms";
    default:
      return issue.message;
  }
}

const formatNames: Readonly<Record<string, string>> = {
  datetime: "expected an RFC 3339 timestamp such as 2026-11-21T09:00:00Z",
  date: "expected a date such as 2026-11-21",
  uuid: "expected a UUID",
};

function unit(origin: string): string {
  if (origin === "array") return " items";
  return origin === "string" ? " characters" : "";
}

function aOrAn(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return aOrAn(typeof value);
}
