import { invalidValue } from "../../shared/fault.ts";
import { asRecord, isRecord, type JsonRecord, recordsIn } from "./json.ts";
import { inlineRefs, SchemaBudget, SchemaRefs, schemasIn } from "./schema_refs.ts";

/**
 * Returns a tool's parameters as an object without `oneOf`, `anyOf`, `allOf` or `$ref` at the top.
 * Branches are merged into one object with all their properties; a property is required if every
 * branch requires it (for `allOf`: any branch).
 */
export function inputSchema(
  parameters: JsonRecord | undefined,
  { refs = new SchemaRefs(parameters ?? {}), room = new SchemaBudget() }: {
    refs?: SchemaRefs;
    room?: SchemaBudget;
  } = {},
): JsonRecord {
  if (!parameters || Object.keys(parameters).length === 0) {
    return { type: "object", properties: {} };
  }
  const flat = new Flattening(refs, room).flatten(parameters, 0);
  return flat.type === "object" ? flat : { ...flat, type: "object" };
}

/** `inputSchema` of the schema at `path`; throws `invalid_value` if it grows too large. */
export function toolSchema(
  parameters: JsonRecord | undefined,
  room: SchemaBudget,
  path: string,
): JsonRecord {
  try {
    return inputSchema(parameters && withoutBranchRefs(parameters, room), { room });
  } catch (thrown) {
    if (!(thrown instanceof SchemaTooLarge)) throw thrown;
    throw invalidValue(path, "the schema is too large or too deep");
  }
}

/**
 * Inlines the references if one of them points into a branch, which is gone once branches are
 * merged: if a schema occurs twice, libraries refer to its first occurrence. Recursive schemas are
 * left unchanged.
 */
function withoutBranchRefs(schema: JsonRecord, room: SchemaBudget): JsonRecord {
  const hasBranches = [schema.anyOf, schema.oneOf, schema.allOf].some(Array.isArray);
  if (!hasBranches || !schemasIn(schema).some(namesBranch)) return schema;
  return inlineRefs(schema, room).schema ?? schema;
}

function namesBranch({ $ref }: JsonRecord): boolean {
  return typeof $ref === "string" && /^#\/(anyOf|oneOf|allOf)\//.test($ref);
}

/** Maximum depth of nested branches; references may be circular. */
const maxDepth = 20;
/** Definitions that refer to each other could otherwise multiply without bound. */
const maxBranches = 1_000;

/** The inlined references, or what merging copies, exceed the budget. */
export class SchemaTooLarge extends Error {}

class Flattening {
  readonly #refs: SchemaRefs;
  readonly #room: SchemaBudget;
  #count = 0;

  constructor(refs: SchemaRefs, room: SchemaBudget) {
    this.#refs = refs;
    this.#room = room;
  }

  flatten(schema: JsonRecord, depth: number): JsonRecord {
    if (depth > maxDepth || ++this.#count > maxBranches) return {};
    const { $ref, oneOf, anyOf, allOf, ...own } = schema;
    const target = typeof $ref === "string" ? this.#refs.resolve($ref) : undefined;
    if (isRecord(target) && !this.#room.take(target)) throw new SchemaTooLarge();
    const every = [...(isRecord(target) ? [target] : []), ...recordsIn(allOf)];
    const flat = (one: JsonRecord) => this.flatten(one, depth + 1);
    let merged = own;
    if (every.length > 0) merged = this.#unite(merged, every.map(flat), "all");
    for (const some of [recordsIn(anyOf), recordsIn(oneOf)]) {
      const objects = some.map(flat).filter((one) => one.type === undefined || mayBeObject(one));
      if (objects.length > 0) merged = this.#unite(merged, objects, "any");
    }
    return merged;
  }

  #unite(own: JsonRecord, parts: readonly JsonRecord[], how: "all" | "any"): JsonRecord {
    const all = [own, ...parts];
    const named = Map.groupBy(all.flatMap(propertiesOf), ([name]) => name);
    for (const names of [named.keys(), ...all.map(requiredOf)]) {
      for (const name of names) this.#spend(16 + name.length);
    }
    const properties: [string, unknown][] = [];
    for (const [name, entries] of named) {
      properties.push([name, this.#joined(entries.map(([, schema]) => schema), how)]);
    }
    const required = [...new Set([...requiredOf(own), ...requiredOfAll(parts, how)])];
    const isClosed = own.additionalProperties === undefined &&
      parts.every((part) => part.additionalProperties === false);
    const described = parts.length === 1 ? parts[0] : undefined;
    return {
      ...(described?.description === undefined ? {} : { description: described.description }),
      ...own,
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length > 0 ? { required } : {}),
      ...(isClosed ? { additionalProperties: false } : {}),
    };
  }

  /** Combines the schemas of one property; equal ones count once. */
  #joined(schemas: readonly unknown[], how: "all" | "any"): unknown {
    if (schemas.length === 1) return schemas[0];
    const distinct = new Map<string, unknown>();
    for (const schema of new Set(schemas)) {
      const text = JSON.stringify(schema) ?? "";
      this.#spend(text.length);
      distinct.set(text, schema);
    }
    if (distinct.size === 1) return schemas[0];
    return how === "all" ? { allOf: [...distinct.values()] } : { anyOf: [...distinct.values()] };
  }

  /**
   * Charges the budget for copies: of names at each level, and of a definition's texts with each
   * branch that adds to them.
   */
  #spend(characters: number): void {
    if (!this.#room.spend(characters)) throw new SchemaTooLarge();
  }
}

function mayBeObject(schema: JsonRecord): boolean {
  return schema.type === "object" ||
    (Array.isArray(schema.type) && schema.type.includes("object"));
}

function propertiesOf(schema: JsonRecord): [string, unknown][] {
  return Object.entries(asRecord(schema.properties));
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
