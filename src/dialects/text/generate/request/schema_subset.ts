import { asRecord, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";

/**
 * Writes a lowered JSON Schema without references in the wire's schema subset. `lose` receives the
 * JSON pointer of each keyword left out.
 */
export function schemaSubset(
  schema: JsonRecord,
  lose: (pointer: string) => void,
  pointer = "",
): JsonRecord {
  const { types, nullable } = typesOf(schema);
  const alternatives = alternativesOf(schema, types);
  const isNullable = nullable || alternatives.nullable;
  const described = {
    ...copied(schema, ["description"]),
    ...(isNullable ? { nullable: true } : {}),
  };
  if (alternatives.list.length > 1) {
    // The vendor refuses other members next to `anyOf`.
    const anyOf = alternatives.list.map((one, index) =>
      schemaSubset(one, lose, `${pointer}/anyOf/${index}`)
    );
    return { ...described, anyOf };
  }
  const only = alternatives.list[0];
  if (only) {
    const inner = schemaSubset(only, lose, pointer);
    return { ...inner, ...described };
  }
  return { ...single(schema, types[0], lose, pointer), ...described };
}

/** Number formats, and the two string formats that every model accepts. */
const formats: ReadonlySet<string> = new Set([
  "enum",
  "date-time",
  "float",
  "double",
  "int32",
  "int64",
]);

function single(
  schema: JsonRecord,
  type: string | undefined,
  lose: (pointer: string) => void,
  pointer: string,
): JsonRecord {
  if (Array.isArray(schema.enum)) return enumeration(schema, lose, pointer);
  const kind = type ?? (isRecord(schema.properties) ? "object" : schema.items ? "array" : "string");
  if (type === undefined && kind === "string") lose(`${pointer}/type`);
  if (isRecord(schema.additionalProperties)) lose(`${pointer}/additionalProperties`);
  const format = typeof schema.format === "string" && formats.has(schema.format);
  if (schema.format !== undefined && !format) lose(`${pointer}/format`);
  return {
    type: kind.toUpperCase(),
    ...(format ? { format: schema.format } : {}),
    ...copied(schema, ["title", "minimum", "maximum", "minItems", "maxItems"]),
    ...(kind === "object" ? properties(schema, lose, pointer) : {}),
    ...(kind === "array" ? { items: items(schema, lose, pointer) } : {}),
  };
}

/** Writes an enumeration. The subset allows only strings; other values become strings. */
function enumeration(
  schema: JsonRecord,
  lose: (pointer: string) => void,
  pointer: string,
): JsonRecord {
  const values = (schema.enum as readonly unknown[]).filter((one) => one !== null);
  const texts = values.map((one) => typeof one === "string" ? one : JSON.stringify(one));
  const filled = texts.filter((one) => one !== "");
  if (filled.length < texts.length) lose(`${pointer}/enum`);
  return {
    type: "STRING",
    format: "enum",
    ...(filled.length > 0 ? { enum: filled } : {}),
  };
}

function properties(
  schema: JsonRecord,
  lose: (pointer: string) => void,
  pointer: string,
): JsonRecord {
  if (!isRecord(schema.properties)) return {};
  const entries = Object.entries(schema.properties).map(([name, one]) => [
    name,
    schemaSubset(asRecord(one), lose, below(`${pointer}/properties`, name)),
  ]);
  const names = new Set(entries.map(([name]) => name));
  const required = (Array.isArray(schema.required) ? schema.required : [])
    .filter((name: unknown) => typeof name === "string" && names.has(name));
  return {
    properties: Object.fromEntries(entries),
    ...(required.length > 0 ? { required } : {}),
    ...copied(schema, ["propertyOrdering"]),
  };
}

/**
 * Writes `items`, which an array must have. A tuple becomes a list of any of its elements' types.
 */
function items(schema: JsonRecord, lose: (pointer: string) => void, pointer: string): JsonRecord {
  if (isRecord(schema.items)) return schemaSubset(schema.items, lose, `${pointer}/items`);
  const tuple = recordsIn(schema.prefixItems);
  if (tuple.length === 0) return { type: "STRING" };
  lose(`${pointer}/prefixItems`);
  return schemaSubset({ anyOf: tuple }, lose, `${pointer}/prefixItems`);
}

function typesOf(schema: JsonRecord): { types: string[]; nullable: boolean } {
  const all = (Array.isArray(schema.type) ? schema.type : [schema.type])
    .filter((one: unknown): one is string => typeof one === "string");
  const listsNull = Array.isArray(schema.enum) && schema.enum.includes(null);
  return {
    types: all.filter((one) => one !== "null"),
    nullable: all.includes("null") || listsNull,
  };
}

/**
 * Returns the alternatives: the members of `anyOf`, or one schema per type if there are several.
 */
function alternativesOf(
  schema: JsonRecord,
  types: readonly string[],
): { list: JsonRecord[]; nullable: boolean } {
  if (Array.isArray(schema.anyOf)) {
    const all = schema.anyOf.filter(isRecord);
    const list = all.filter((one) => one.type !== "null");
    return { list, nullable: list.length < all.length };
  }
  const list = types.length < 2 || schema.enum ? [] : types.map((type) => ({ ...schema, type }));
  return { list, nullable: false };
}

function copied(schema: JsonRecord, names: readonly string[]): JsonRecord {
  return Object.fromEntries(
    names.filter((name) => schema[name] !== undefined).map((name) => [name, schema[name]]),
  );
}

/** Maximum length of a pointer, and of each of its steps: names may be long, and losses many. */
const maxPointer = 400;
const maxStep = 200;

/** Returns the pointer to a member; a very long pointer isn't extended. */
export function below(pointer: string, name: string): string {
  return pointer.length > maxPointer ? pointer : `${pointer}/${step(name)}`;
}

/** Writes one step of a JSON pointer, encoded for a URI fragment: ASCII without commas. */
function step(name: string): string {
  const escaped = name.slice(0, maxStep).replaceAll("~", "~0").replaceAll("/", "~1");
  return encodeURIComponent(escaped.toWellFormed());
}
