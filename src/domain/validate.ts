import { z } from "zod";
import { Fault } from "./fault.ts";

/**
 * The library stops at the first wrong element or field, as it does for those who only ask whether a
 * value is right: of a large value with nothing right in it the others would be megabytes.
 */
const firstOnly: z.core.ParseContextInternal<z.core.$ZodIssue> = {
  reportInput: true,
  abortEarly: true,
};

/** Checks a value against a contract's schema; the fault names the first wrong field by path. */
export function validate<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value, firstOnly);
  if (result.success) return result.data;
  const first = result.error.issues[0]!;
  throw faultOf(tooMany(first, first.path) ?? first);
}

/** What a union says where one of its forms has too many elements: that is what is wrong. */
function tooMany(
  issue: z.core.$ZodIssue,
  path: readonly PropertyKey[],
): z.core.$ZodIssue | undefined {
  if (issue.code === "too_big" && issue.origin === "array") return { ...issue, path: [...path] };
  if (issue.code !== "invalid_union") return undefined;
  for (const inner of issue.errors.flat()) {
    const found = tooMany(inner, [...path, ...inner.path]);
    if (found) return found;
  }
  return undefined;
}

function faultOf(issue: z.core.$ZodIssue): Fault {
  const unknown = issue.code === "unrecognized_keys" ? issue.keys[0]?.slice(0, 100) : undefined;
  const param = z.core.toDotPath(unknown === undefined ? issue.path : [...issue.path, unknown]);
  const place = param === "" ? "The request body" : param;
  if (unknown !== undefined) {
    // A schema that can say which fields there are does so.
    const said = issue.message.startsWith("Unrecognized") ? "unknown field" : issue.message;
    return new Fault("invalid_value", { param, message: `${place}: ${said}.` });
  }
  if (issue.input === undefined && absenceCodes.has(issue.code)) {
    const expected = issue.code === "invalid_type" && issue.expected !== "nonoptional"
      ? `, expected ${aOrAn(issue.expected)}`
      : issue.code === "invalid_value"
      ? `, ${expectation(issue)}`
      : "";
    return new Fault("missing_required_field", {
      param,
      message: `${place}: required${expected}.`,
    });
  }
  return new Fault("invalid_value", { param, message: `${place}: ${expectation(issue)}.` });
}

/** What a schema says of a value that isn't there. */
const absenceCodes: ReadonlySet<string> = new Set([
  "invalid_type",
  "invalid_value",
  "invalid_union",
]);

/** What was expected, and the type of what came: never the value, which may be a prompt. */
function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `expected ${aOrAn(issue.expected)}, received ${typeName(issue.input)}`;
    case "invalid_value":
      return `expected ${issue.values.map(quoted).join(" or ")}`;
    case "too_small":
      return `expected ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}${
        unit(issue.origin, issue.minimum)
      }`;
    case "too_big":
      return `expected ${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}${
        unit(issue.origin, issue.maximum)
      }`;
    case "invalid_format":
      // A schema that can say what it expects does so.
      return formatNames[issue.format] ??
        (issue.message.startsWith("expected")
          ? issue.message
          : `expected the format ${issue.format}`);
    case "invalid_union":
      return issue.message === "Invalid input"
        ? "the value has none of the accepted forms"
        : issue.message;
    default:
      return issue.message;
  }
}

const formatNames: Readonly<Record<string, string>> = {
  datetime: "expected an RFC 3339 timestamp such as 2026-11-21T09:00:00Z",
  date: "expected a date such as 2026-11-21",
  uuid: "expected a UUID",
  guid: "expected a UUID",
};

function quoted(value: unknown): string {
  return typeof value === "string" ? `'${value}'` : String(value);
}

function unit(origin: string, size: number | bigint): string {
  const plural = Number(size) === 1 ? "" : "s";
  if (origin === "array") return ` item${plural}`;
  return origin === "string" ? ` character${plural}` : "";
}

function aOrAn(type: string): string {
  if (type === "int") return "a whole number";
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return aOrAn(typeof value);
}
