import type { Random } from "../../support/random.ts";
import { randomString } from "./values.ts";

/** The parts of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  const?: unknown;
  enum?: readonly unknown[];
  example?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
}

/** A value that the schema allows, as far as the words above tell; often one at its bounds. */
export function valueOf(
  schema: Schema,
  resolve: (reference: string) => Schema,
  random: Random,
  depth = 0,
): unknown {
  const inner = (each: Schema) => valueOf(each, resolve, random, depth + 1);
  if (schema.$ref !== undefined) return inner(resolve(schema.$ref));
  if (schema.example !== undefined && random.chance(30)) return schema.example;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return random.pick(schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return inner(random.pick(choices));
  if (schema.allOf !== undefined) return inner(schema.allOf[0]!);
  const type = Array.isArray(schema.type) ? random.pick(schema.type) : schema.type;
  switch (type) {
    case "null":
      return null;
    case "boolean":
      return random.chance(50);
    case "integer":
    case "number": {
      const bounds = [schema.minimum, schema.maximum].filter((bound) => bound !== undefined);
      if (bounds.length > 0 && random.chance(40)) return random.pick(bounds);
      const least = schema.minimum ?? 0;
      const most = Math.min(schema.maximum ?? least + 1000, least + 1000);
      const whole = least + random.below(Math.max(1, Math.floor(most - least) + 1));
      return type === "integer" || random.chance(50) ? whole : Math.min(most, whole + 0.25);
    }
    case "string":
      return stringOf(schema, random);
    case "array": {
      const { minItems = 0, maxItems = minItems + 3 } = schema;
      const length = depth < 3 && maxItems <= maxLongArray && random.chance(20)
        ? maxItems
        : Math.min(maxItems, minItems + (depth > 5 ? 0 : random.below(3)));
      return Array.from({ length }, () => schema.items ? inner(schema.items) : {});
    }
    case "object":
      return objectOf(schema, inner, random, depth);
    default:
      return random.pick(["text", 7, null, { a: [1] }, ["b"], true]);
  }
}

function objectOf(
  schema: Schema,
  inner: (schema: Schema) => unknown,
  random: Random,
  depth: number,
): Record<string, unknown> {
  const required = new Set(schema.required);
  const made: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    if (required.has(name) || (depth < 6 && random.chance(30))) made[name] = inner(field);
  }
  if (schema.additionalProperties !== false && random.chance(10)) made.something_new = 1;
  return made;
}

/** Longer arrays and texts would make most requests larger than the service's limit. */
const maxLongArray = 100;
const maxLongText = 20_000;

function stringOf({ format, pattern, minLength = 0, maxLength }: Schema, random: Random): string {
  if (format === "date-time") {
    return new Date(Date.UTC(2026, random.below(24), 1 + random.below(28))).toISOString();
  }
  if (format === "date") return `2026-0${1 + random.below(9)}-1${random.below(10)}`;
  if (format === "uuid") return "0197e0c2-a3f0-7c41-9d2e-6b1f4c8a7d35";
  if (pattern !== undefined) return matching(pattern, random);
  if (maxLength !== undefined && maxLength <= maxLongText && random.chance(20)) {
    return "x".repeat(maxLength);
  }
  const text = random.chance(70)
    ? random.pick(["hello", "vendor-b/gpt-4.1", "Grüße 👋", "/// APP fuzz\nhi"])
    : randomString(random);
  return text.padEnd(minLength, "x").slice(0, maxLength ?? 1000);
}

/** A text for a pattern that is one class of characters; zeros are in each of the document's. */
function matching(pattern: string, random: Random): string {
  const [, shortest = "1", longest = shortest] =
    /^\^\[[^\]]+\]\{(\d+)(?:,(\d+))?\}\$$/.exec(pattern) ?? [];
  return "0".repeat(Number(random.chance(30) ? longest : shortest));
}
