import type { Tool } from "./canonical_request.ts";
import { isRecord, type JsonRecord } from "./json.ts";
import { mapSchemas, type SchemaBudget, schemasIn } from "./schema_refs.ts";
import { toolSchema } from "./tool_schema.ts";

/**
 * A function's `parameters` as OpenAI takes them: an object with `properties` and without branches,
 * values or `not` at the top, and `items` in every array. Other vendors take less, and MCP servers
 * send it; one such tool is enough for OpenAI to refuse every call of a session. What is added, or
 * left when a rule is removed, allows any value.
 */
export function functionSchema(tool: Tool, room: SchemaBudget): JsonRecord | undefined {
  if (tool.parameters === undefined) return undefined;
  const { not: _, enum: __, const: ___, ...flat } = toolSchema(tool.parameters, room, tool.path);
  const schema = flat.properties === undefined ? { ...flat, properties: {} } : flat;
  return itemsInArrays(schema, tool.strict);
}

/** The schema with `items` in every array, unless it is strict. */
export function itemsInArrays(schema: JsonRecord, strict: boolean | undefined): JsonRecord {
  // Strict ones have rules of their own: they may not hold a schema that allows any value.
  const isConcerned = strict !== true && schemasIn(schema).some(lacksItems);
  return isConcerned ? withItems(schema, 0) : schema;
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
