import { Fault, invalidValue } from "../../../../shared/fault.ts";
import type { Loss } from "../../../kernel/canonical_request.ts";
import { asRecord, isRecord, type JsonRecord, mapMembers } from "../../../kernel/json.ts";
import { inlineRefs, type SchemaBudget } from "../../../kernel/schema_refs.ts";
import { below, schemaSubset } from "./schema_subset.ts";

/** A schema in one of the wire's two fields; neither if it is empty or can't be expressed. */
interface LoweredSchema {
  /** For `parametersJsonSchema` and `responseJsonSchema`. */
  jsonSchema?: JsonRecord;
  /** For `parameters` and `responseSchema`. */
  subset?: JsonRecord;
}

/**
 * Lowers a JSON Schema to what a model accepts. References are inlined; recursive schemas keep
 * theirs if the model accepts any. `path` is the path of the schema's owner in the caller's body;
 * each keyword left out is a loss at `path#/json/pointer`.
 */
export function lowerSchema(
  schema: JsonRecord,
  target: { jsonSchema: boolean },
  path: string,
  losses: Loss[],
  room?: SchemaBudget,
): LoweredSchema {
  const inlined = inlineRefs(schema, room);
  if (inlined.problem === "unresolved" || inlined.problem === "too_large") {
    const why = inlined.problem === "unresolved"
      ? "a $ref of the schema names nothing in it"
      : "the schema is too large or too deep";
    throw invalidValue(path, `${why}`);
  }
  if (inlined.schema === undefined && !target.jsonSchema) {
    losses.push({ path, weight: "meaning" });
    return {};
  }
  const lowering = new Lowering(path, losses);
  const plain = lowering.schema(inlined.schema ?? schema, "", 0);
  if (target.jsonSchema) return { jsonSchema: plain };
  return { subset: schemaSubset(plain, (pointer) => lowering.lose(pointer)) };
}

/** Keywords that the wire's JSON Schema accepts unchanged. */
const copiedKeywords: ReadonlySet<string> = new Set([
  "$anchor",
  "type",
  "format",
  "title",
  "description",
  "enum",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "required",
  "propertyOrdering",
]);

/** Keywords that constrain nothing: omitting them is no loss. */
const silent: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$comment",
  "$vocabulary",
  "default",
  "example",
  "examples",
  "readOnly",
  "writeOnly",
  "deprecated",
  "nullable",
]);

/** Constraints that move into the description, for the model to read. */
const described: ReadonlySet<string> = new Set([
  "pattern",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
  "multipleOf",
  "uniqueItems",
  "exclusiveMinimum",
  "exclusiveMaximum",
]);

const maxDepth = 100;

class Lowering {
  readonly #path: string;
  readonly #losses: Loss[];

  constructor(path: string, losses: Loss[]) {
    this.#path = path;
    this.#losses = losses;
  }

  lose(pointer: string): void {
    this.#losses.push({ path: `${this.#path}#${pointer}`, weight: "hint" });
  }

  schema(node: JsonRecord, pointer: string, depth: number): JsonRecord {
    if (depth > maxDepth) {
      const message = `${this.#path}: the schema is nested too deep.`;
      throw new Fault("invalid_value", { param: this.#path, message });
    }
    if (typeof node.$ref === "string") return this.#reference(node, node.$ref, pointer, depth);
    const merged = withoutAllOf(node);
    const out: Record<string, unknown> = {};
    const notes: string[] = [];
    const bounded = integerBounds(merged);
    for (const [key, value] of Object.entries(bounded)) {
      if (copiedKeywords.has(key)) out[key] = value;
      else if (described.has(key) && value !== false) {
        notes.push(`${key}: ${String(value)}`);
        this.lose(below(pointer, key));
      } else this.#keyword(out, key, value, pointer, depth);
    }
    if (merged.nullable === true) addNull(out);
    if (notes.length > 0) {
      const note = `(${notes.join(", ")})`;
      out.description = typeof out.description === "string" ? `${out.description} ${note}` : note;
    }
    return out;
  }

  /** Writes a reference, next to which only keywords that start with `$` are allowed. */
  #reference(node: JsonRecord, ref: string, pointer: string, depth: number): JsonRecord {
    const out: Record<string, unknown> = { $ref: movedRef(ref) };
    for (const key of ["$defs", "definitions"]) {
      if (isRecord(node[key])) this.#keyword(out, key, node[key], pointer, depth);
    }
    return out;
  }

  #keyword(
    out: Record<string, unknown>,
    key: string,
    value: unknown,
    pointer: string,
    depth: number,
  ): void {
    const at = below(pointer, key);
    switch (key) {
      case "const":
        out.enum = [value];
        return;
      case "properties":
      case "$defs":
      case "definitions":
        out[key === "definitions" ? "$defs" : key] = this.#map(value, at, depth);
        return;
      case "anyOf":
      case "oneOf":
        out.anyOf = this.#list(value, at, depth);
        return;
      case "prefixItems":
        out.prefixItems = this.#list(value, at, depth);
        return;
      case "items":
        if (Array.isArray(value)) out.prefixItems = this.#list(value, at, depth);
        else if (value !== true) out.items = this.#value(value, at, depth);
        return;
      case "additionalProperties":
        out.additionalProperties = typeof value === "boolean"
          ? value
          : this.#value(value, at, depth);
        return;
      default:
        if (!silent.has(key) && !key.startsWith("x-") && !described.has(key)) this.lose(at);
    }
  }

  #map(value: unknown, pointer: string, depth: number): unknown {
    const lowered = (one: unknown, name: string) => this.#value(one, below(pointer, name), depth);
    return mapMembers(asRecord(value), lowered);
  }

  #list(value: unknown, pointer: string, depth: number): unknown[] {
    if (!Array.isArray(value)) return [];
    return value.map((one, index) => this.#value(one, below(pointer, String(index)), depth));
  }

  #value(value: unknown, pointer: string, depth: number): JsonRecord {
    return isRecord(value) ? this.schema(value, pointer, depth + 1) : {};
  }
}

/**
 * Merges `allOf` into one schema: properties and required names are united; of any other keyword
 * the first value wins.
 */
function withoutAllOf(node: JsonRecord): JsonRecord {
  if (!Array.isArray(node.allOf)) return node;
  const { allOf, ...rest } = node;
  const all = [rest, ...allOf.filter(isRecord).map(withoutAllOf)];
  const merged = new Map<string, unknown>();
  const properties = new Map<string, unknown>();
  const required = new Set<unknown>();
  for (const one of all) {
    for (const [name, value] of Object.entries(one)) {
      if (!merged.has(name)) merged.set(name, value);
    }
    for (const [name, value] of Object.entries(asRecord(one.properties))) {
      if (!properties.has(name)) properties.set(name, value);
    }
    for (const name of Array.isArray(one.required) ? one.required : []) required.add(name);
  }
  // Properties and required names of all branches, in their order.
  if (all.some((one) => isRecord(one.properties))) {
    merged.set("properties", Object.fromEntries(properties));
  }
  if (all.some((one) => Array.isArray(one.required))) merged.set("required", [...required]);
  return Object.fromEntries(merged);
}

/** Moves exclusive bounds of integers by one into `minimum` and `maximum`. */
function integerBounds(node: JsonRecord): JsonRecord {
  if (node.type !== "integer") return node;
  const { exclusiveMinimum: low, exclusiveMaximum: high, ...rest } = node;
  const least = typeof low === "number"
    ? Math.max(Math.floor(low) + 1, asNumber(rest.minimum, -Infinity))
    : low === true
    ? asNumber(rest.minimum, -Infinity) + 1
    : rest.minimum;
  const most = typeof high === "number"
    ? Math.min(Math.ceil(high) - 1, asNumber(rest.maximum, Infinity))
    : high === true
    ? asNumber(rest.maximum, Infinity) - 1
    : rest.maximum;
  return {
    ...rest,
    ...(least === undefined ? {} : { minimum: least }),
    ...(most === undefined ? {} : { maximum: most }),
  };
}

/** Writes `nullable: true`, which other schema languages have, in JSON Schema. */
function addNull(out: Record<string, unknown>): void {
  if (typeof out.type === "string") out.type = [out.type, "null"];
  else if (Array.isArray(out.anyOf)) out.anyOf = [...out.anyOf, { type: "null" }];
  if (Array.isArray(out.enum) && !out.enum.includes(null)) out.enum = [...out.enum, null];
}

function movedRef(ref: string): string {
  return ref.replace(/^#\/definitions\//, "#/$defs/");
}

function asNumber(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}
