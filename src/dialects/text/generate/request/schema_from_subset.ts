import { isRecord, type JsonRecord, mapMembers } from "../../../kernel/json.ts";

/**
 * Converts the wire's schema subset to JSON Schema: types in lower case, `nullable` as a type or an
 * alternative, counts as numbers. Below a depth of 100 any value is allowed.
 */
export function jsonSchemaOf(schema: JsonRecord, depth = 0): JsonRecord {
  if (depth > maxDepth) return {};
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    const name = renamed.get(key) ?? key;
    if (value === null || dropped.has(name)) continue;
    out[name] = member(name, value, depth);
  }
  if (schema.nullable === true) return nullable(out);
  return out;
}

const maxDepth = 100;

/** Keywords that JSON Schema spells differently. */
const renamed: ReadonlyMap<string, string> = new Map([
  ["any_of", "anyOf"],
  ["min_items", "minItems"],
  ["max_items", "maxItems"],
  ["min_length", "minLength"],
  ["max_length", "maxLength"],
  ["min_properties", "minProperties"],
  ["max_properties", "maxProperties"],
]);

/**
 * Keywords that are dropped; in JSON Schema the order of properties is that of the object's
 * members.
 */
const dropped: ReadonlySet<string> = new Set([
  "nullable",
  "propertyOrdering",
  "property_ordering",
  "example",
]);

const counts: ReadonlySet<string> = new Set([
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
]);

function member(name: string, value: unknown, depth: number): unknown {
  if (name === "type") return typeof value === "string" ? value.toLowerCase() : value;
  if (counts.has(name) && typeof value === "string") return Number(value);
  if (name === "items" && isRecord(value)) return jsonSchemaOf(value, depth + 1);
  if (name === "anyOf" && Array.isArray(value)) {
    return value.map((one: unknown) => isRecord(one) ? jsonSchemaOf(one, depth + 1) : one);
  }
  if (name === "properties" && isRecord(value)) {
    return mapMembers(value, (one) => isRecord(one) ? jsonSchemaOf(one, depth + 1) : one);
  }
  return value;
}

function nullable(schema: Record<string, unknown>): JsonRecord {
  const choices = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  if (typeof schema.type === "string") {
    return { ...schema, type: [schema.type, "null"], ...choices };
  }
  if (Array.isArray(schema.anyOf)) {
    return { ...schema, anyOf: [...schema.anyOf, { type: "null" }] };
  }
  return { ...schema, ...choices };
}
