import { z } from "zod";
import type { Steps } from "../base/steps.ts";
import { didYouMean } from "../base/nearest_names.ts";
import { shownName } from "../base/own_text.ts";
import { Fault } from "./fault.ts";

/**
 * Makes the library stop at the first invalid element or field: the errors of a large value with
 * nothing valid in it would be megabytes.
 */
const firstOnly: z.core.ParseContextInternal<z.core.$ZodIssue> = {
  reportInput: true,
  abortEarly: true,
};

/** Validates a value against a contract's schema; the fault has the path of the first invalid field. */
export function validate<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value, firstOnly);
  if (result.success) return result.data;
  const first = result.error.issues[0]!;
  throw faultOf(issueToReport(first), () => fieldsAt(schema, first.path));
}

/** Validates a small value, such as a form's: returns it, or a fault for each invalid field. */
export function validateFields<T extends z.ZodType>(
  schema: T,
  value: unknown,
): { data: z.output<T>; faults?: undefined } | { data?: undefined; faults: Fault[] } {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { data: result.data };
  const { issues } = result.error;
  return {
    faults: issues.map((issue) =>
      faultOf(issueToReport(issue), () => fieldsAt(schema, issue.path))
    ),
  };
}

/**
 * `validate` in steps, element by element (`longLists`). Of several invalid fields it may report
 * another one.
 */
export function* validateSteps<T extends z.ZodType>(schema: T, value: unknown): Steps<z.output<T>> {
  const lists = longLists(schema, value);
  if (lists.length === 0) return validate(schema, value);
  const names = lists.map(({ name }) => name);
  const checked = validate(withoutElements(schema as unknown as z.ZodObject, names), value);
  for (const { name, list, element } of lists) {
    for (let index = 0; index < list.length; index++) {
      checkElement(element, list[index], [name, index]);
      if ((index + 1) % elementsAtOnce === 0) yield;
    }
  }
  return checked as z.output<T>;
}

/**
 * Validates the first elements of a request's list before the rest of the request is parsed.
 * Undefined if the schema doesn't allow that.
 */
export function previewIssues(
  schema: z.ZodType,
): ((name: string, elements: readonly unknown[]) => void) | undefined {
  if (!isOpen(schema)) return undefined;
  const { shape } = schema as unknown as z.ZodObject;
  return (name, elements) => {
    const field = Object.hasOwn(shape, name) ? shape[name] as z.ZodType : undefined;
    const element = field && arrayIn(field)?.element as z.ZodType | undefined;
    elements.forEach((one, index) => element && checkElement(element, one, [name, index]));
  };
}

function checkElement(element: z.ZodType, value: unknown, path: [string, number]): void {
  const { error } = element.safeParse(value, firstOnly);
  if (!error) return;
  const first = error.issues[0]!;
  const issue = issueToReport(first);
  const atPath = { ...issue, path: [...path, ...issue.path] };
  throw faultOf(atPath, () => fieldsAt(element, issue.path));
}

/** Few, since an element may hold thousands of parts. */
const elementsAtOnce = 32;

interface LongList {
  readonly name: string;
  readonly list: readonly unknown[];
  readonly element: z.ZodType;
}

/**
 * Lists of a request whose elements can be validated separately: request and elements are open
 * objects, which are passed on unchanged, so that no parsed output has to be assembled.
 */
function longLists(schema: z.ZodType, value: unknown): LongList[] {
  if (!isOpen(schema) || typeof value !== "object" || value === null) return [];
  return Object.entries((schema as unknown as z.ZodObject).shape).flatMap(([name, field]) => {
    const list = (value as Readonly<Record<string, unknown>>)[name];
    if (!Array.isArray(list) || list.length <= elementsAtOnce) return [];
    const element = arrayIn(field as z.ZodType)?.element as z.ZodType | undefined;
    return element && isOpen(element) ? [{ name, list, element }] : [];
  });
}

function isOpen(schema: z.ZodType): boolean {
  return schema._zod.traits.has("OpenObject");
}

function arrayIn(field: z.ZodType): z.ZodArray | undefined {
  if (field instanceof z.ZodArray) return field;
  if (isWrapped(field)) return arrayIn(field.unwrap() as z.ZodType);
  if (!(field instanceof z.ZodUnion)) return undefined;
  const [array, ...more] = field.options.filter((one) => one instanceof z.ZodArray);
  return more.length === 0 ? array : undefined;
}

function isWrapped(field: z.ZodType): field is z.ZodOptional | z.ZodNullable {
  return field instanceof z.ZodOptional || field instanceof z.ZodNullable;
}

function withoutElements(schema: z.ZodObject, names: readonly string[]): z.ZodType {
  const lists = names.map((name) => [name, anyElements(schema.shape[name] as z.ZodType)]);
  const shape = { ...schema.shape, ...Object.fromEntries(lists) };
  return z.core.clone(schema, { ...schema.def, shape }) as z.ZodObject;
}

function anyElements(field: z.ZodType): z.ZodType {
  if (field instanceof z.ZodArray) {
    return z.core.clone(field, { ...field.def, element: z.unknown() });
  }
  if (isWrapped(field)) {
    const inner = anyElements(field.unwrap() as z.ZodType);
    return field instanceof z.ZodOptional ? inner.optional() : inner.nullable();
  }
  if (!(field instanceof z.ZodUnion)) return field;
  const options = field.options.map((one) => anyElements(one as z.ZodType));
  return z.core.clone(field, { ...field.def, options });
}

/** Returns the issue to report: for a union, the issue within the only form that fits the value. */
function issueToReport(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  return tooMany(issue, issue.path) ?? namedForm(issue) ?? issueInFittingForm(issue);
}

/** For a value whose discriminator names no form of its union: the issue that lists the names. */
function namedForm(issue: z.core.$ZodIssue): z.core.$ZodIssue | undefined {
  if (issue.code !== "invalid_union" || !issue.discriminator || !("options" in issue)) return;
  return {
    code: "invalid_value",
    path: issue.path,
    message: issue.message,
    values: issue.options as z.core.util.Primitive[],
    input: (issue.input as Readonly<Record<string, unknown>>)[issue.discriminator],
  };
}

function issueInFittingForm(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union" || issue.message !== unnamed) return issue;
  const within = issue.errors.flatMap(([first]) => first && !unmatchedTypes(first) ? [first] : []);
  const [only, ...others] = within;
  if (!only || others.length > 0) return issue;
  return issueInFittingForm({ ...only, path: [...issue.path, ...only.path] });
}

/** Returns the types of a union's form if the value has none of them; else undefined. */
function unmatchedTypes(issue: z.core.$ZodIssue): string[] | undefined {
  if (issue.path.length > 0) return undefined;
  if (issue.code === "invalid_type") return [expectedType(issue)];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return undefined;
  const types = issue.errors.map(([first]) => first && unmatchedTypes(first));
  return types.every((one) => one !== undefined) ? types.flat() : undefined;
}

/** The library's message for a union whose schema has no message of its own. */
const unnamed = "Invalid input";

/** If one alternative of a union has too many elements, reports that instead of the union. */
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

function faultOf(issue: z.core.$ZodIssue, fields: () => string[]): Fault {
  const unknown = issue.code === "unrecognized_keys" ? shownName(issue.keys[0] ?? "") : undefined;
  const path = issue.path.map((step) => typeof step === "string" ? shownName(step) : step);
  const param = z.core.toDotPath(unknown === undefined ? path : [...path, unknown]);
  const field = param === "" ? "The request body" : param;
  if (unknown !== undefined) {
    const names = fields();
    const hint = didYouMean(unknown, names);
    // Some schemas have their own message with the known fields.
    const text = !issue.message.startsWith("Unrecognized")
      ? issue.message
      : hint === "" && names.length > 0 && names.length <= maxListed
      ? `unknown field, expected one of ${names.join(", ")}`
      : "unknown field";
    return new Fault("invalid_value", { param, message: `${field}: ${text}.${hint}` });
  }
  if (issue.input === undefined && absenceCodes.has(issue.code)) {
    const expected = issue.code === "invalid_type" && issue.expected !== "nonoptional"
      ? `, expected ${aOrAn(expectedType(issue))}`
      : issue.code === "invalid_value"
      ? `, ${expectation(issue)}`
      : "";
    return new Fault("missing_required_field", {
      param,
      message: `${field}: required${expected}.`,
    });
  }
  return new Fault("invalid_value", { param, message: `${field}: ${expectation(issue)}.` });
}

/** Max field names in one message; for more, callers have the reference. */
const maxListed = 20;

/** Returns the fields that the object at a path may have; none if it may have several forms. */
function fieldsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const { def } = schema._zod as z.core.$ZodTypes["_zod"];
  if ("innerType" in def) return fieldsAt(def.innerType, path);
  const [first, ...rest] = path;
  if (def.type === "array") return fieldsAt(def.element, rest);
  if (def.type !== "object") return [];
  if (first === undefined) return Object.keys(def.shape);
  const field = def.shape[String(first)];
  return field ? fieldsAt(field, rest) : [];
}

/** Codes of the issues that an absent value causes. */
const absenceCodes: ReadonlySet<string> = new Set([
  "invalid_type",
  "invalid_value",
  "invalid_union",
]);

/** What was expected, and the type received; never the value, which may be a prompt. */
function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `expected ${aOrAn(expectedType(issue))}, received ${receivedType(issue)}`;
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
      // Some schemas have their own message.
      return formatNames[issue.format] ??
        (issue.message.startsWith("expected")
          ? issue.message
          : `expected the format ${issue.format}`);
    case "invalid_union":
      return issue.message === unnamed ? formsOf(issue) : issue.message;
    default:
      return issue.message;
  }
}

/** Says which types a union accepts, each once, since several forms may have the same type. */
function formsOf(issue: z.core.$ZodIssue): string {
  const types = unmatchedTypes({ ...issue, path: [] });
  if (types === undefined) return "the value has none of the accepted forms";
  const named = [...new Set(types)].map(aOrAn).join(" or ");
  return `expected ${named}, received ${typeName(issue.input)}`;
}

/** Returns the schema's own word for the type, such as `file`, or the library's. */
function expectedType({ message, expected }: z.core.$ZodIssueInvalidType): string {
  return /^expected an? (\w+)$/.exec(message)?.[1] ?? expected;
}

function receivedType({ expected, input }: z.core.$ZodIssueInvalidType): string {
  return expected === "int" && Number.isFinite(input) ? "a fraction" : typeName(input);
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
  // An object with any member names.
  if (type === "record") return "an object";
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  // JSON such as 1e400 is read as infinity.
  if (value === Infinity || value === -Infinity) return "a number that is too large";
  return aOrAn(typeof value);
}
