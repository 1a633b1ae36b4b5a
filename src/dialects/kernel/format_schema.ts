import type { CanonicalRequest, Loss } from "./canonical_request.ts";
import { writtenFor } from "./function_schema.ts";
import { isRecord, type JsonRecord } from "./json.ts";
import { inlineRefs, SchemaBudget } from "./schema_refs.ts";
import { loseSetting } from "./setting_losses.ts";

/** The member that holds the answer where its schema was wrapped. */
export const wrappedMember = "result";

/**
 * The schema of an answer as OpenAI takes it: an object, with `items` in every array, and strict
 * where it can be. `unwrap`: the member that it was wrapped in.
 */
export function formatSchema(request: CanonicalRequest, losses: Loss[]): {
  schema?: JsonRecord;
  strict?: boolean | undefined;
  unwrap?: string | undefined;
} {
  const { format } = request;
  if (format?.type !== "json-schema") return {};
  const wrapped = wrappedRoot(format.schema, new SchemaBudget());
  const written = writtenFor(wrapped ?? format.schema, format.strict);
  if (written.strict !== format.strict) loseSetting(request, "format", "hint", losses);
  return { ...written, unwrap: wrapped && wrappedMember };
}

/** A schema of anything but an object as a member of one; undefined for an object's. */
export function wrappedRoot(schema: JsonRecord, room: SchemaBudget): JsonRecord | undefined {
  if (schema.type === "object") return undefined;
  const root = inlineRefs(schema, room).schema ?? schema;
  const isObject = root.type === "object" || (root.type === undefined && !hasOtherRoot(root));
  if (isObject) return undefined;
  // References are relative to the root, which moves: they are inlined, or their targets move
  // along.
  const { $defs, definitions, ...rest } = root;
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
  const branches = [root.anyOf, root.oneOf, root.allOf].flatMap((one) =>
    Array.isArray(one) ? one : []
  );
  if (branches.length === 0) return root.enum !== undefined || root.const !== undefined;
  return branches.some((one) =>
    !isRecord(one) || (one.type !== "object" && !isRecord(one.properties))
  );
}
