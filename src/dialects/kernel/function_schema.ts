import type { Loss, Tool } from "./canonical_request.ts";
import { defined } from "../../base/defined.ts";
import { asRecord, isRecord, type JsonRecord } from "./json.ts";
import { mapSchemas, type SchemaBudget, schemasIn } from "./schema_refs.ts";
import { toolSchema } from "./tool_schema.ts";

/**
 * A function's `parameters` as OpenAI takes them: an object with `properties` and without branches,
 * values or `not` at the top, and `items` in every array. Other vendors take less, and MCP servers
 * send it; one such tool is enough for OpenAI to refuse every call of a session. What is added, or
 * left when a rule is removed, allows any value.
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
  const written = writtenFor(schema, strict);
  if (written.strict !== strict) losses.push({ path: `${path}.strict`, weight: "hint" });
  return defined({ parameters: written.schema, strict: written.strict });
}

/**
 * The schema with `items` in every array, unless it is strict. It isn't where an object is open or a
 * property optional, which Anthropic's strict schemas may have, and for which OpenAI refuses a call.
 */
export function writtenFor(
  schema: JsonRecord,
  asked: boolean | undefined,
): { schema: JsonRecord; strict: boolean | undefined } {
  const strict = asked === true ? schemasIn(schema).every(isClosed) : asked;
  // Strict ones have rules of their own: they may not hold a schema that allows any value.
  const isConcerned = strict !== true && schemasIn(schema).some(lacksItems);
  return { schema: isConcerned ? withItems(schema, 0) : schema, strict };
}

function isClosed({ type, properties, required, additionalProperties }: JsonRecord): boolean {
  if (![type].flat().includes("object") && properties === undefined) return true;
  const names = new Set(Array.isArray(required) ? required : []);
  return additionalProperties === false &&
    Object.keys(asRecord(properties)).every((name) => names.has(name));
}

/** Deeper ones stay as they are: callers may nest arbitrarily deep. */
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
  // Up to draft 2019-09 the places of a tuple are listed in `items`; `prefixItems` can't be empty.
  const { items, additionalItems, ...rest } = written;
  return {
    ...rest,
    ...(Array.isArray(items) && items.length > 0 ? { prefixItems: items } : {}),
    items: isRecord(additionalItems) ? additionalItems : {},
  };
}
