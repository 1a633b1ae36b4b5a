import type { Loss, Tool } from "./canonical_request.ts";
import { defined } from "../../base/defined.ts";
import { asRecord, isRecord, type JsonRecord } from "./json.ts";
import { mapSchemas, type SchemaBudget, schemasIn } from "./schema_refs.ts";
import { toolSchema } from "./tool_schema.ts";

/**
 * Returns a function's `parameters` in the form that OpenAI accepts: an object with `properties`,
 * without branches, `enum`, `const` or `not` at the top, and with `items` in every array. Other
 * vendors demand less, and MCP servers send schemas that don't comply; one such tool makes OpenAI
 * refuse every call of a session. What is added, or left when a rule is removed, allows any value.
 */
export function functionSchema(
  tool: Tool,
  room: SchemaBudget,
  losses: Loss[],
): { parameters?: JsonRecord; strict?: boolean } {
  const { parameters, strict, path } = tool;
  if (parameters === undefined) return defined({ strict });
  const { not: _, enum: __, const: ___, ...flat } = toolSchema(parameters, room, path);
  const schema = flat.properties === undefined ? { ...flat, properties: {} } : flat;
  const written = schemaWithItems(schema, strict);
  if (written.strict !== strict) losses.push({ path: `${path}.strict`, weight: "hint" });
  return defined({ parameters: written.schema, strict: written.strict });
}

/**
 * Returns the schema with `items` in every array, unless it is strict. `strict` becomes false if an
 * object is open or a property optional: Anthropic's strict schemas may have these, but OpenAI
 * refuses the call.
 */
export function schemaWithItems(
  schema: JsonRecord,
  asked: boolean | undefined,
): { schema: JsonRecord; strict: boolean | undefined } {
  const strict = asked === true ? schemasIn(schema).every(isClosed) : asked;
  // A strict schema is left alone: it may not hold a schema that allows any value.
  const isConcerned = strict !== true && schemasIn(schema).some(lacksItems);
  return { schema: isConcerned ? withItems(schema, 0) : schema, strict };
}

function isClosed({ type, properties, required, additionalProperties }: JsonRecord): boolean {
  if (![type].flat().includes("object") && properties === undefined) return true;
  const names = new Set(Array.isArray(required) ? required : []);
  return additionalProperties === false &&
    Object.keys(asRecord(properties)).every((name) => names.has(name));
}

/** Schemas nested deeper are left unchanged: callers may nest arbitrarily deep. */
const maxDepth = 100;

function lacksItems({ type, items }: JsonRecord): boolean {
  return [type].flat().includes("array") && (items === undefined || Array.isArray(items));
}

function withItems(schema: JsonRecord, depth: number): JsonRecord {
  if (depth > maxDepth) return schema;
  const written = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      mapSchemas(key, value, (inner) => withItems(inner, depth + 1)),
    ]),
  );
  if (!lacksItems(schema)) return written;
  // Up to draft 2019-09 the elements of a tuple are listed in `items`; `prefixItems` can't be
  // empty.
  const { items, additionalItems, ...rest } = written;
  return {
    ...rest,
    ...(Array.isArray(items) && items.length > 0 ? { prefixItems: items } : {}),
    items: isRecord(additionalItems) ? additionalItems : {},
  };
}
