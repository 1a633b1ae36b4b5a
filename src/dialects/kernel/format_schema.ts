import type { CanonicalRequest, Loss } from "./canonical_request.ts";
import { schemaWithItems } from "./function_schema.ts";
import { isRecord, type JsonRecord, mapMembers } from "./json.ts";
import { inlineRefs, mapSchemas, SchemaBudget, SchemaRefs } from "./schema_refs.ts";
import { loseSetting } from "./setting_losses.ts";

/** The member that holds the answer where its schema was wrapped. */
export const wrappedMember = "result";

/**
 * Returns the schema of an answer in the form that OpenAI accepts: an object without branches at
 * its root, with `items` in every array, and strict if possible. `unwrap` is the member that the
 * schema had to be wrapped in.
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
  const written = schemaWithItems(root, format.strict);
  if (written.strict !== format.strict) loseSetting(request, "format", "hint", losses);
  return { ...written, unwrap: plain ? undefined : wrappedMember };
}

/**
 * Returns the schema with a plain object as its root, the only root that OpenAI accepts; undefined
 * if the root is anything else. A reference at the root is resolved, since libraries write
 * recursive types like that.
 */
function plainRoot(schema: JsonRecord): JsonRecord | undefined {
  const { $ref, ...rest } = schema;
  const target = typeof $ref === "string" ? new SchemaRefs(schema).resolve($ref) : undefined;
  const root = isRecord(target) ? { ...target, ...rest } : schema;
  const isOther = root.type === undefined ? hasOtherRoot(root) : root.type !== "object";
  if (isOther || root.$ref !== undefined || branchesOf(root).length > 0) return undefined;
  return root.type === undefined ? { type: "object", ...root } : root;
}

/** Wraps the schema of anything but an object in an object; undefined if it is an object's. */
export function wrappedRoot(schema: JsonRecord, room: SchemaBudget): JsonRecord | undefined {
  if (schema.type === "object") return undefined;
  const root = inlined(schema, room);
  const isObject = root.type === "object" || (root.type === undefined && !hasOtherRoot(root));
  return isObject ? undefined : asMember(root);
}

/**
 * Inlines references, or rewrites them if that is impossible: they are relative to the root, which
 * moves.
 */
function inlined(schema: JsonRecord, room: SchemaBudget): JsonRecord {
  return inlineRefs(schema, room).schema ?? withMovedRefs(schema, 0);
}

/** Rewrites references to where their targets move; definitions stay at the root. */
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

/** Schemas nested deeper are left unchanged: callers may nest arbitrarily deep. */
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

/**
 * Whether a root without a type isn't just an object. Its branches decide; a branch without
 * properties may allow any value.
 */
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
