import { isRecord, type JsonRecord, mapMembers } from "./json.ts";

/**
 * A JSON Schema with its `$ref`s replaced by what they name, so that targets without references can
 * take it. Members beside a `$ref` override those of its target; `$defs` and `definitions` are
 * gone. `problem` says why it can't be done:
 * - `recursive`: a schema holds itself; it has no finite form without references.
 * - `unresolved`: a reference names nothing in this document (others are never fetched).
 * - `too_large`: nested deeper than 100, or more than 20,000 nodes once replaced, or no room left
 *   for them. A few nested definitions can name each other often enough to fill any memory.
 */
type Inlined =
  | { schema: JsonRecord; problem: undefined }
  | { schema: undefined; problem: "recursive" | "unresolved" | "too_large" };

const maxDepth = 100;
const maxNodes = 20_000;

/**
 * The budget for inlined schemas, in characters of JSON, shared by all schemas of a request: many
 * small ones that each grow to their limit would fill the memory together.
 */
export class SchemaBudget {
  #left = 4 * 1024 * 1024;
  readonly #lengths = new Map<JsonRecord, number>();

  /**
   * Reserves room for one more copy of this schema, without nested ones; false if there is none.
   */
  take(schema: JsonRecord): boolean {
    let length = this.#lengths.get(schema);
    if (length === undefined) this.#lengths.set(schema, length = lengthOf(schema));
    return this.spend(length);
  }

  /** Reserves room for so many characters; false if there is none. */
  spend(characters: number): boolean {
    this.#left -= characters;
    return this.#left >= 0;
  }
}

/** Returns the approximate length of a schema's JSON text, without nested schemas. */
function lengthOf(schema: JsonRecord): number {
  let length = 32;
  for (const [key, value] of Object.entries(schema)) {
    const isMap = schemaMapKeywords.has(key) && isRecord(value);
    if (isMap) { for (const name of Object.keys(value)) length += 16 + name.length; }
    else if (!schemaKeywords.has(key)) length += JSON.stringify(value)?.length ?? 0;
    else if (Array.isArray(value)) length += 8 * value.length;
    length += 16 + key.length;
  }
  return length;
}

export function inlineRefs(root: JsonRecord, room: SchemaBudget = new SchemaBudget()): Inlined {
  const inliner = new Inliner(root, room);
  try {
    return { schema: inliner.schema(root, 0), problem: undefined };
  } catch (thrown) {
    if (thrown instanceof NotInlinable) return { schema: undefined, problem: thrown.problem };
    throw thrown;
  }
}

/**
 * Returns the schema with references like `/$defs/A` rewritten to `#/$defs/A`, if the document has
 * that target. As they are, they name another document, which no vendor reads. LiteLLM writes them
 * into tools for Claude.
 */
export function withLocalRefs(root: JsonRecord): JsonRecord {
  const refs = new SchemaRefs(root);
  const lacksMark = (ref: unknown) =>
    typeof ref === "string" && ref.startsWith("/") && refs.resolve(ref) === undefined &&
    refs.resolve(`#${ref}`) !== undefined;
  const isConcerned = schemasIn(root).some(({ $ref }) => lacksMark($ref));
  if (!isConcerned) return root;
  const written = (schema: JsonRecord, depth: number): JsonRecord => {
    if (depth > maxDepth) return schema;
    const { $ref } = schema;
    return mapMembers(
      schema,
      (value, key) =>
        key === "$ref" && lacksMark($ref)
          ? `#${$ref}`
          : mapSchemas(key, value, (inner) => written(inner, depth + 1)),
    );
  };
  return written(root, 0);
}

/** Resolves the references of one document; anchors and ids are indexed once. */
export class SchemaRefs {
  readonly #root: JsonRecord;
  readonly #id: string;
  /** The first schema of each `$anchor`, and of each `$id`. */
  #byAnchor: ReadonlyMap<unknown, JsonRecord> | undefined;
  #byId: ReadonlyMap<unknown, JsonRecord> | undefined;

  constructor(root: JsonRecord) {
    this.#root = root;
    this.#id = typeof root.$id === "string" ? root.$id : "";
  }

  /**
   * The schema that a `$ref` names: `#`, `#/…` (JSON pointer), `#name` (an `$anchor`), or the `$id`
   * of a schema in the document. Undefined when there is none.
   */
  resolve(ref: string): unknown {
    if (ref === "#" || ref === this.#root.$id) return this.#root;
    const isOwn = ref[this.#id.length] === "#" && ref.startsWith(this.#id);
    const local = isOwn ? ref.slice(this.#id.length) : ref;
    if (local.startsWith("#/")) return pointed(this.#root, local.slice(2));
    if (!this.#byAnchor) this.#index();
    return local.startsWith("#") ? this.#byAnchor!.get(local.slice(1)) : this.#byId!.get(local);
  }

  #index(): void {
    const anchors = new Map<unknown, JsonRecord>();
    const ids = new Map<unknown, JsonRecord>();
    for (const schema of schemasIn(this.#root)) {
      if (!anchors.has(schema.$anchor)) anchors.set(schema.$anchor, schema);
      if (!ids.has(schema.$id)) ids.set(schema.$id, schema);
    }
    this.#byAnchor = anchors;
    this.#byId = ids;
  }
}

/** Yields the schema and every schema in it. Iterative, since callers may nest arbitrarily deep. */
export function* schemasIn(root: JsonRecord): Generator<JsonRecord> {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const schema = open.pop();
    if (!isRecord(schema)) continue;
    yield schema;
    for (const [key, value] of Object.entries(schema)) {
      const isMap = schemaMapKeywords.has(key) && isRecord(value);
      if (!isMap && !schemaKeywords.has(key)) continue;
      for (const one of isMap ? Object.values(value) : Array.isArray(value) ? value : [value]) {
        open.push(one);
      }
    }
  }
}

/** Returns the value of a schema's member with `change` applied to the schemas that it holds. */
export function mapSchemas(
  key: string,
  value: unknown,
  change: (schema: JsonRecord) => JsonRecord,
): unknown {
  const one = (inner: unknown) => isRecord(inner) ? change(inner) : inner;
  if (schemaKeywords.has(key)) return Array.isArray(value) ? value.map(one) : one(value);
  if (!schemaMapKeywords.has(key) || !isRecord(value)) return value;
  return mapMembers(value, one);
}

/** Members whose value is a schema or a list of schemas. */
const schemaKeywords: ReadonlySet<string> = new Set([
  "items",
  "prefixItems",
  "additionalItems",
  "additionalProperties",
  "unevaluatedItems",
  "unevaluatedProperties",
  "contains",
  "propertyNames",
  "anyOf",
  "oneOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
]);

/** Members whose value maps names to schemas. */
const schemaMapKeywords: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);

class NotInlinable extends Error {
  constructor(readonly problem: "recursive" | "unresolved" | "too_large") {
    super(problem);
  }
}

class Inliner {
  readonly #root: JsonRecord;
  readonly #refs: SchemaRefs;
  readonly #room: SchemaBudget;
  /** Targets that are being inlined, outermost first. */
  readonly #open = new Set<JsonRecord>();
  #nodes = 0;

  constructor(root: JsonRecord, room: SchemaBudget) {
    this.#root = root;
    this.#refs = new SchemaRefs(root);
    this.#room = room;
  }

  schema(node: JsonRecord, depth: number): JsonRecord {
    const hasRoom = this.#open.size === 0 || this.#room.take(node);
    if (depth > maxDepth || ++this.#nodes > maxNodes || !hasRoom) {
      throw new NotInlinable("too_large");
    }
    if (typeof node.$ref !== "string") return this.#members(node, depth);
    const target = this.#refs.resolve(node.$ref);
    const { $ref: _, ...siblings } = node;
    if (target === true) return this.#members(siblings, depth);
    if (!isRecord(target)) throw new NotInlinable("unresolved");
    if (this.#open.has(target) || target === this.#root) throw new NotInlinable("recursive");
    this.#open.add(target);
    const replaced = this.schema(target, depth + 1);
    this.#open.delete(target);
    return { ...replaced, ...this.#members(siblings, depth) };
  }

  #members(node: JsonRecord, depth: number): JsonRecord {
    const { $defs: _, definitions: __, ...members } = node;
    const inlined = (inner: JsonRecord) => this.schema(inner, depth + 1);
    return mapMembers(members, (value, key) => mapSchemas(key, value, inlined));
  }
}

function pointed(root: JsonRecord, pointer: string): unknown {
  let value: unknown = root;
  for (const token of pointer.split("/")) {
    const step = decode(token).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) value = /^\d+$/.test(step) ? value[Number(step)] : undefined;
    else value = isRecord(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}

function decode(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
