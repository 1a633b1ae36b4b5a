import {
  asRecord,
  isRecord,
  type JsonRecord,
  mapMembers,
  recordsIn,
} from "../../../kernel/json.ts";
import { inlineRefs, SchemaBudget, SchemaRefs } from "../../../kernel/schema_refs.ts";
import { inputSchema, SchemaTooLarge } from "../../../kernel/tool_schema.ts";

/** A schema that structured output and strict tools accept. */
interface StrictSchema {
  schema: JsonRecord;
  /** Number of optional properties in the whole schema. */
  optionalProperties: number;
  /** Has objects with arbitrary keys, which closing would empty. */
  isOpen: boolean;
  /** Can't be lowered: it is recursive, has an unresolved reference, or is too large. */
  isRefused: boolean;
}

/**
 * Lowers a schema: unsupported keywords move into the description, `oneOf` becomes `anyOf`, every
 * object is closed.
 */
export function strictSchema(root: JsonRecord, room = new SchemaBudget()): StrictSchema {
  const lowering = new Lowering(root, room);
  const schema = inlineRefs(root, room).problem === undefined ? lowered(root, lowering) : undefined;
  return {
    schema: schema ?? root,
    optionalProperties: lowering.optionalProperties,
    isOpen: lowering.isOpen,
    isRefused: schema === undefined,
  };
}

function lowered(root: JsonRecord, lowering: Lowering): JsonRecord | undefined {
  try {
    return lowering.schema(root);
  } catch (thrown) {
    if (thrown instanceof SchemaTooLarge) return undefined;
    throw thrown;
  }
}

const copiedKeywords: ReadonlySet<string> = new Set(["type", "enum", "const", "default", "title"]);
const schemaMaps: ReadonlySet<string> = new Set(["$defs", "definitions", "properties"]);
/** Keywords that mean nothing to a model, or are handled elsewhere. */
const ignored: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$anchor",
  "$comment",
  "deprecated",
  "readOnly",
  "writeOnly",
  "description",
  "required",
  "additionalProperties",
  "unevaluatedProperties",
]);
const formats: ReadonlySet<string> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "uri",
  "ipv4",
  "ipv6",
  "uuid",
]);

class Lowering {
  optionalProperties = 0;
  isOpen = false;
  readonly #refs: SchemaRefs;
  readonly #room: SchemaBudget;

  constructor(root: JsonRecord, room: SchemaBudget) {
    this.#refs = new SchemaRefs(root);
    this.#room = room;
  }

  schema(source: JsonRecord): JsonRecord {
    if (typeof source.$ref === "string") return this.#reference(source);
    const node = this.#merged(source);
    const lowered: Record<string, unknown> = {};
    const notes: string[] = typeof node.description === "string" ? [node.description] : [];
    for (const [key, value] of Object.entries(node)) {
      if (!ignored.has(key)) this.#member(lowered, notes, key, value);
    }
    if (isObject(node)) this.#close(node, lowered);
    return notes.length > 0 ? { ...lowered, description: notes.join("\n") } : lowered;
  }

  #member(lowered: Record<string, unknown>, notes: string[], key: string, value: unknown): void {
    if (copiedKeywords.has(key)) {
      lowered[key] = value;
    } else if (schemaMaps.has(key) && isRecord(value)) {
      lowered[key] = mapMembers(value, (one) => this.#any(one));
    } else if (key === "items" && isRecord(value)) {
      lowered.items = this.schema(value);
    } else if ((key === "anyOf" || key === "oneOf" || key === "allOf") && Array.isArray(value)) {
      lowered[key === "oneOf" ? "anyOf" : key] = value.map((one) => this.#any(one));
    } else if (key === "format" && typeof value === "string" && formats.has(value)) {
      lowered.format = value;
    } else if (key === "minItems" && (value === 0 || value === 1)) {
      lowered.minItems = value;
    } else {
      if (key === "patternProperties" || key === "propertyNames") this.isOpen = true;
      notes.push(`${key}: ${typeof value === "string" ? value : JSON.stringify(value)}.`);
    }
  }

  /** Writes a reference, next to which only definitions are allowed. */
  #reference(node: JsonRecord): JsonRecord {
    const lowered: Record<string, unknown> = { $ref: node.$ref };
    for (const key of ["$defs", "definitions"]) {
      if (node[key] !== undefined) this.#member(lowered, [], key, node[key]);
    }
    return lowered;
  }

  /**
   * Merges `allOf`, and alternatives next to properties: no value matches several closed objects.
   */
  #merged(node: JsonRecord): JsonRecord {
    const all = recordsIn(node.allOf);
    const some = [...recordsIn(node.anyOf), ...recordsIn(node.oneOf)];
    const hasOwn = isRecord(node.properties);
    if (all.length < 2 && !(hasOwn && all.length + some.length > 0)) return node;
    if (![...all, ...some].every((part) => this.#isObject(part))) return node;
    return inputSchema(node, { refs: this.#refs, room: this.#room });
  }

  #isObject(part: JsonRecord): boolean {
    const target = typeof part.$ref === "string" ? this.#refs.resolve(part.$ref) : part;
    return isRecord(target) && (target.type === undefined || target.type === "object");
  }

  #any(value: unknown): unknown {
    if (isRecord(value)) return this.schema(value);
    if (value === true) this.isOpen = true;
    return value;
  }

  #close(node: JsonRecord, lowered: Record<string, unknown>): void {
    if (!isRecord(node.properties) && hasBranches(node)) {
      // The branches are closed; closing this object too would forbid everything that they allow.
      delete lowered.type;
      return;
    }
    const names = new Set(Object.keys(asRecord(node.properties)));
    const required = Array.isArray(node.required)
      ? node.required.filter((one) => names.has(one))
      : [];
    const more = node.additionalProperties;
    const isMap = more === true || isRecord(more) || (names.size === 0 && more !== false);
    if (isMap) this.isOpen = true;
    this.optionalProperties += names.size - required.length;
    lowered.type ??= "object";
    if (required.length > 0) lowered.required = required;
    lowered.additionalProperties = false;
  }
}

function hasBranches(node: JsonRecord): boolean {
  return Array.isArray(node.anyOf) || Array.isArray(node.oneOf) || Array.isArray(node.allOf);
}

function isObject(node: JsonRecord): boolean {
  if (node.type === undefined) return isRecord(node.properties);
  return node.type === "object" || (Array.isArray(node.type) && node.type.includes("object"));
}
