import { isRecord, type JsonRecord } from "../json.ts";
import { resolveRef } from "../schema_refs.ts";

/**
 * A tool's `input_schema` (messages.md §4): always an object, without `oneOf`, `anyOf`, `allOf` or
 * `$ref` at the top: branches are merged into one object, properties united, required those that
 * every branch requires (for `allOf` that any does).
 */
export function inputSchema(parameters: JsonRecord | undefined): JsonRecord {
  if (!parameters || Object.keys(parameters).length === 0) {
    return { type: "object", properties: {} };
  }
  const flat = new Flattening(parameters).flatten(parameters, 0);
  return flat.type === "object" ? flat : { ...flat, type: "object" };
}

/** Deeper nesting of branches than anyone writes; references may also go in circles. */
const maxDepth = 20;
/** A few definitions that name each other twice would otherwise fill any memory. */
const maxBranches = 1_000;

class Flattening {
  readonly #root: JsonRecord;
  #count = 0;

  constructor(root: JsonRecord) {
    this.#root = root;
  }

  flatten(schema: JsonRecord, depth: number): JsonRecord {
    if (depth > maxDepth || ++this.#count > maxBranches) return {};
    const { $ref, oneOf, anyOf, allOf, ...own } = schema;
    const target = typeof $ref === "string" ? resolveRef(this.#root, $ref) : undefined;
    const every = [...(isRecord(target) ? [target] : []), ...branches(allOf)];
    const flat = (one: JsonRecord) => this.flatten(one, depth + 1);
    let merged = own;
    if (every.length > 0) merged = unite(merged, every.map(flat), "all");
    for (const some of [branches(anyOf), branches(oneOf)]) {
      const objects = some.map(flat).filter((one) => one.type === undefined || mayBeObject(one));
      if (objects.length > 0) merged = unite(merged, objects, "any");
    }
    return merged;
  }
}

function branches(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function mayBeObject(schema: JsonRecord): boolean {
  return schema.type === "object" ||
    (Array.isArray(schema.type) && schema.type.includes("object"));
}

function unite(own: JsonRecord, parts: readonly JsonRecord[], how: "all" | "any"): JsonRecord {
  const properties: Record<string, unknown> = {};
  for (const [name, schema] of [own, ...parts].flatMap(propertiesOf)) {
    properties[name] = name in properties ? both(properties[name], schema, how) : schema;
  }
  const required = [...new Set([...requiredOf(own), ...requiredOfAll(parts, how)])];
  const isClosed = own.additionalProperties === undefined &&
    parts.every((part) => part.additionalProperties === false);
  const described = parts.length === 1 ? parts[0] : undefined;
  return {
    ...(described?.description === undefined ? {} : { description: described.description }),
    ...own,
    type: "object",
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(isClosed ? { additionalProperties: false } : {}),
  };
}

function both(a: unknown, b: unknown, how: "all" | "any"): unknown {
  if (JSON.stringify(a) === JSON.stringify(b)) return a;
  return how === "all" ? { allOf: [a, b] } : { anyOf: [a, b] };
}

function propertiesOf(schema: JsonRecord): [string, unknown][] {
  return isRecord(schema.properties) ? Object.entries(schema.properties) : [];
}

function requiredOf(schema: JsonRecord): string[] {
  return Array.isArray(schema.required)
    ? schema.required.filter((one): one is string => typeof one === "string")
    : [];
}

function requiredOfAll(parts: readonly JsonRecord[], how: "all" | "any"): string[] {
  if (how === "all") return parts.flatMap(requiredOf);
  const [first, ...rest] = parts.map((part) => new Set(requiredOf(part)));
  return [...first ?? []].filter((name) => rest.every((one) => one.has(name)));
}
