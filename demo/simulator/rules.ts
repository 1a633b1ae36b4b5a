/** Checks an object's fields against a table, which the vendor's published types constrain. */
import { asObject, type JsonObject } from "./json.ts";

export type Kind = "string" | "number" | "integer" | "boolean" | "array" | "object" | "any";

export interface Rule {
  /** Any of these kinds fits. */
  is: Kind | readonly Kind[];
  /** `null` means "not set". */
  nullable?: true;
  required?: true;
  min?: number;
  max?: number;
  oneOf?: readonly string[];
}

export type Rules = Readonly<Record<string, Rule>>;

export interface Finding {
  what: "unknown" | "missing" | "type" | "range" | "value";
  field: string;
  expected: string;
  got: unknown;
}

/** Returns the first fault of `body`, or null. Unknown fields are faults only if `closed`. */
export function findFault(body: JsonObject, rules: Rules, closed: boolean): Finding | null {
  for (const [field, value] of Object.entries(body)) {
    const rule = Object.hasOwn(rules, field) ? rules[field] : undefined;
    if (rule === undefined) {
      if (closed) return { what: "unknown", field, expected: "", got: value };
      continue;
    }
    const fault = faultOfValue(field, value, rule);
    if (fault) return fault;
  }
  for (const [field, rule] of Object.entries(rules)) {
    if (rule.required && (body[field] === undefined || body[field] === null)) {
      return { what: "missing", field, expected: namesOf(rule), got: undefined };
    }
  }
  return null;
}

/** Returns a value's kind as error messages name it. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "decimal";
  return typeof value;
}

function faultOfValue(field: string, value: unknown, rule: Rule): Finding | null {
  if (value === undefined || (value === null && rule.nullable)) return null;
  const kinds = typeof rule.is === "string" ? [rule.is] : rule.is;
  if (!kinds.some((kind) => fits(value, kind))) {
    return { what: "type", field, expected: namesOf(rule), got: value };
  }
  if (typeof value === "number") {
    if (rule.min !== undefined && value < rule.min) {
      return { what: "range", field, expected: `>= ${rule.min}`, got: value };
    }
    if (rule.max !== undefined && value > rule.max) {
      return { what: "range", field, expected: `<= ${rule.max}`, got: value };
    }
  }
  if (rule.oneOf && typeof value === "string" && !rule.oneOf.includes(value)) {
    return { what: "value", field, expected: rule.oneOf.join(", "), got: value };
  }
  return null;
}

function fits(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case "any":
      return true;
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return asObject(value) !== null;
    default: {
      const actual: string = typeof value;
      return actual === kind;
    }
  }
}

function namesOf(rule: Rule): string {
  return typeof rule.is === "string" ? rule.is : rule.is.join(" or ");
}
