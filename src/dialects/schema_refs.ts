import { isRecord, type JsonRecord } from "./json.ts";

/**
 * A JSON Schema with its `$ref`s replaced by what they name, so that targets without references can
 * take it. Members beside a `$ref` override those of its target; `$defs` and `definitions` are
 * gone. `undefined` members say why it can't be done:
 * - `recursive`: a schema holds itself; it has no finite form without references.
 * - `unresolved`: a reference names nothing in this document (others are never fetched).
 * - `too_large`: nested deeper than 100, or more than 20,000 nodes once replaced. A few nested
 *   definitions can name each other often enough to fill any memory.
 */
export type Inlined =
  | { schema: JsonRecord; problem: undefined }
  | { schema: undefined; problem: "recursive" | "unresolved" | "too_large" };

const maxDepth = 100;
const maxNodes = 20_000;

export function inlineRefs(root: JsonRecord): Inlined {
  const inliner = new Inliner(root);
  try {
    return { schema: inliner.schema(root, 0), problem: undefined };
  } catch (thrown) {
    if (thrown instanceof NotInlinable) return { schema: undefined, problem: thrown.problem };
    throw thrown;
  }
}

/** Whether a schema holds itself through its references. */
export function isRecursive(root: JsonRecord): boolean {
  return inlineRefs(root).problem === "recursive";
}

/**
 * The schema that a `$ref` names: `#`, `#/…` (JSON pointer), `#name` (an `$anchor`), or the `$id` of
 * a schema in the document. Undefined when there is none.
 */
export function resolveRef(root: JsonRecord, ref: string): unknown {
  if (ref === "#" || ref === root.$id) return root;
  const id = typeof root.$id === "string" ? root.$id : "";
  const local = ref.startsWith(`${id}#`) ? ref.slice(id.length) : ref;
  if (local.startsWith("#/")) return pointed(root, local.slice(2));
  const anchor = local.startsWith("#") ? local.slice(1) : undefined;
  return findSchema(
    root,
    (schema) => anchor === undefined ? schema.$id === local : schema.$anchor === anchor,
  );
}

/** Members whose value is a schema or a list of schemas. */
export const schemaKeywords: ReadonlySet<string> = new Set([
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
export const schemaMapKeywords: ReadonlySet<string> = new Set([
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
  /** Targets that are being replaced right now, outermost first. */
  readonly #open = new Set<JsonRecord>();
  #nodes = 0;

  constructor(root: JsonRecord) {
    this.#root = root;
  }

  schema(node: JsonRecord, depth: number): JsonRecord {
    if (depth > maxDepth || ++this.#nodes > maxNodes) throw new NotInlinable("too_large");
    if (typeof node.$ref !== "string") return this.#members(node, depth);
    const target = resolveRef(this.#root, node.$ref);
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
    return Object.fromEntries(
      Object.entries(node)
        .filter(([key]) => key !== "$defs" && key !== "definitions")
        .map(([key, value]) => [key, this.#member(key, value, depth)]),
    );
  }

  #member(key: string, value: unknown, depth: number): unknown {
    if (schemaKeywords.has(key)) {
      return Array.isArray(value)
        ? value.map((one) => this.#value(one, depth))
        : this.#value(value, depth);
    }
    if (!schemaMapKeywords.has(key) || !isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, this.#value(one, depth)]),
    );
  }

  #value(value: unknown, depth: number): unknown {
    return isRecord(value) ? this.schema(value, depth + 1) : value;
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

/** The first schema of a document that fits; iterative, since callers nest as deep as they like. */
function findSchema(root: JsonRecord, fits: (schema: JsonRecord) => boolean): unknown {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const schema = open.pop();
    if (!isRecord(schema)) continue;
    if (fits(schema)) return schema;
    for (const [key, value] of Object.entries(schema)) {
      const isMap = schemaMapKeywords.has(key) && isRecord(value);
      if (!isMap && !schemaKeywords.has(key)) continue;
      for (const one of isMap ? Object.values(value) : Array.isArray(value) ? value : [value]) {
        open.push(one);
      }
    }
  }
  return undefined;
}
