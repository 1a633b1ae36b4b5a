import type { CanonicalRequest, Loss } from "./canonical_request.ts";
import { writtenFor } from "./function_schema.ts";
import { isRecord, type JsonRecord, mapMembers } from "./json.ts";
import { inlineRefs, mapSchemas, SchemaBudget, SchemaRefs } from "./schema_refs.ts";
import { loseSetting } from "./setting_losses.ts";

/** The member that holds the answer where its schema was wrapped. */
export const wrappedMember = "result";

/**
 * The schema of an answer as OpenAI takes it: an object without branches at its root, with `items`
 * in every array, and strict where it can be. `unwrap`: the member that it was wrapped in.
 */
export function formatSchema(request: CanonicalRequest, losses: Loss[]): {
  schema?: JsonRecord;
  strict?: boolean | undefined;
  unwrap?: string | undefined;
} {
  const { format } = request;
  if (format?.type !== "json-schema") return {};
  const plain = plainRoot(format.schema);
  const root = plain ?? asMember(inlined(format.schema, new SchemaBudget()));
  const written = writtenFor(root, format.strict);
  if (written.strict !== format.strict) loseSetting(request, "format", "hint", losses);
  return { ...written, unwrap: plain ? undefined : wrappedMember };
}

/**
 * The schema with a plain object as its root, the only one that OpenAI takes; undefined where it
 * has another. Libraries write a recursive type as a reference at the root.
 */
function plainRoot(schema: JsonRecord): JsonRecord | undefined {
  const { $ref, ...rest } = schema;
  const target = typeof $ref === "string" ? new SchemaRefs(schema).resolve($ref) : undefined;
  const root = isRecord(target) ? { ...target, ...rest } : schema;
  const isOther = root.type === undefined ? hasOtherRoot(root) : root.type !== "object";
  if (isOther || root.$ref !== undefined || branchesOf(root).length > 0) return undefined;
  return root.type === undefined ? { type: "object", ...root } : root;
}

/** A schema of anything but an object as a member of one; undefined for an object's. */
export function wrappedRoot(schema: JsonRecord, room: SchemaBudget): JsonRecord | undefined {
  if (schema.type === "object") return undefined;
  const root = inlined(schema, room);
  const isObject = root.type === "object" || (root.type === undefined && !hasOtherRoot(root));
  return isObject ? undefined : asMember(root);
}

/** References are relative to the root, which moves: they are inlined where they can be. */
function inlined(schema: JsonRecord, room: SchemaBudget): JsonRecord {
  return inlineRefs(schema, room).schema ?? withMovedRefs(schema, 0);
}

/** Definitions stay at the root. */
function withMovedRefs(schema: JsonRecord, depth: number): JsonRecord {
  if (depth > deepest) return schema;
  return mapMembers(
    schema,
    (value, key) =>
      key === "$ref" && typeof value === "string"
        ? value.replace(/^#(?=$|\/(?!\$defs\/|definitions\/))/, `#/properties/${wrappedMember}`)
        : mapSchemas(key, value, (inner) => withMovedRefs(inner, depth + 1)),
  );
}

/** Deeper ones stay as they are: callers may nest arbitrarily deep. */
const deepest = 100;

function asMember({ $defs, definitions, ...rest }: JsonRecord): JsonRecord {
  return {
    type: "object",
    properties: { [wrappedMember]: rest },
    required: [wrappedMember],
    additionalProperties: false,
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

/** Without a type the branches decide; a schema without properties may allow any value. */
function hasOtherRoot(root: JsonRecord): boolean {
  if (isRecord(root.properties)) return false;
  const branches = branchesOf(root);
  if (branches.length === 0) return root.enum !== undefined || root.const !== undefined;
  return branches.some((one) =>
    !isRecord(one) || (one.type !== "object" && !isRecord(one.properties))
  );
}

function branchesOf({ anyOf, oneOf, allOf }: JsonRecord): unknown[] {
  return [anyOf, oneOf, allOf].flatMap((one) => Array.isArray(one) ? one : []);
}
