import { asArray, asNumber, asObject, asText, type JsonObject } from "./json.ts";
import { lastWords } from "./prose.ts";
import { hash } from "./tokens.ts";

const DEEPEST = 8;

/**
 * Builds a value that conforms to a JSON Schema (2020-12, or the upper-case subset of the generate
 * dialect), with strings taken from the question. Another `variant` gives another value.
 */
export function instanceOf(schema: unknown, question: string, variant = 0): unknown {
  return build(schema, { root: schema, question, variant, name: "", depth: 0 });
}

interface Context {
  root: unknown;
  question: string;
  variant: number;
  /** Property the value is for. */
  name: string;
  depth: number;
}

function build(schema: unknown, context: Context): unknown {
  const node = resolve(asObject(schema), context.root);
  if (node === null) return plainText(context);
  if ("const" in node) return node.const;
  const choices = asArray(node.enum).filter((choice) => choice !== null);
  if (choices.length > 0) return choices[context.variant % choices.length];
  if (context.depth > DEEPEST) return null;
  const inner = { ...context, depth: context.depth + 1 };
  const options = [...asArray(node.anyOf), ...asArray(node.oneOf)];
  if (options.length > 0) {
    const isNull = (option: unknown) => typeOf(asObject(option)) === "null";
    if (isDeep(context) && options.some(isNull)) return null;
    return build(options.find((option) => !isNull(option)), inner);
  }
  const all = asArray(node.allOf);
  if (all.length > 0) return mergeAll(all, inner);
  switch (typeOf(node)) {
    case "object":
      return buildObject(node, inner);
    case "array":
      return buildArray(node, inner);
    case "integer":
      return Math.trunc(buildNumber(node, context));
    case "number":
      return isBounded(node) ? buildNumber(node, context) : buildShare(context);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return buildString(node, context);
  }
}

/** From here on only what the schema requires is built, since it may contain itself. */
function isDeep({ depth }: Context): boolean {
  return depth >= DEEPEST / 2;
}

function typeOf(node: JsonObject | null): string {
  if (node === null) return "string";
  const names = (Array.isArray(node.type) ? node.type : [node.type])
    .map((name) => asText(name).toLowerCase());
  const named = names.find((name) => name !== "" && name !== "null") ?? names[0] ?? "";
  if (named !== "") return named;
  if (node.properties) return "object";
  return node.items ? "array" : "string";
}

function resolve(node: JsonObject | null, root: unknown): JsonObject | null {
  const reference = asText(node?.$ref);
  if (!reference.startsWith("#")) return node;
  let found: unknown = root;
  for (const part of reference.slice(1).split("/").filter((name) => name !== "")) {
    found = asObject(found)?.[part.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return asObject(found) ?? {};
}

function buildObject(node: JsonObject, context: Context): JsonObject {
  const properties = asObject(node.properties) ?? {};
  const required = asArray(node.required);
  const names = Object.keys(properties).filter((name) =>
    required.includes(name) || !isDeep(context)
  );
  return Object.fromEntries(
    names.map((name) => [name, build(properties[name], { ...context, name })]),
  );
}

function buildArray(node: JsonObject, context: Context): unknown[] {
  const tuple = asArray(node.prefixItems);
  if (tuple.length > 0) return tuple.map((item) => build(item, context));
  const usual = isDeep(context) ? 0 : 2;
  const least = Number(node.minItems ?? Math.min(usual, 1));
  const most = Number(node.maxItems ?? Math.max(least, usual));
  const count = Math.max(least, Math.min(usual, most));
  return Array.from(
    { length: count },
    (_, index) => build(node.items, { ...context, variant: context.variant + index }),
  );
}

/**
 * Bounds as wide as all safe integers are common, and tools take the numbers as they are: so those
 * from 1 on are preferred.
 */
function buildNumber(node: JsonObject, context: Context): number {
  const above = asNumber(node.exclusiveMinimum) ?? -Infinity;
  const below = asNumber(node.exclusiveMaximum) ?? Infinity;
  const lowest = Math.max(asNumber(node.minimum) ?? -Infinity, above + 1);
  const highest = Math.min(asNumber(node.maximum) ?? Infinity, below - 1);
  const least = Math.min(Math.max(1, lowest), highest);
  const most = Math.min(highest, least + 20);
  const step = asNumber(node.multipleOf);
  const value = most <= least
    ? most
    : least + hash(`${context.name}${context.variant}`) % (most - least);
  return step ? Math.ceil(least / step) * step : value;
}

/** A number without bounds is a share from 0.5 to 1, as scores and judges' verdicts are. */
function buildShare({ name, variant }: Context): number {
  return (50 + hash(`${name}${variant}`) % 51) / 100;
}

function isBounded(node: JsonObject): boolean {
  const bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
  return bounds.some((name) => name in node);
}

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "2026-11-21T09:00:00Z",
  date: "2026-11-21",
  time: "09:00:00Z",
  email: "ada@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  uuid: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
};

/** Names of arguments whose text an agent executes, or uses as the path of a file to write. */
const RUN_ARGUMENT = /command|cmd|script|shell|bash|exec|patch|code|sql|program|argv|path|file/i;
/** Used instead of the prompt's words, which may be a command: does nothing wherever it is run. */
export const HARMLESS = "true";

function buildString(node: JsonObject, context: Context): string {
  if (RUN_ARGUMENT.test(context.name)) return fitted(HARMLESS, node);
  const formatted = FORMATS[asText(node.format)];
  if (formatted !== undefined) return formatted;
  const text = /city|location|place|town/i.test(context.name)
    ? placesIn(context.question)[context.variant] ?? (context.variant === 0 ? "Zürich" : "東京")
    : plainText(context);
  return fitted(text, node);
}

function fitted(text: string, node: JsonObject): string {
  const least = Number(node.minLength ?? 0);
  const most = Number(node.maxLength ?? Math.max(least, 200));
  return [...text.padEnd(least, ".")].slice(0, most).join("");
}

function plainText(context: Context): string {
  const words = lastWords(context.question) || "nothing";
  return context.variant === 0 ? words : `${words} (${context.variant + 1})`;
}

/** Finds the places that a weather question names: capitalised words after "in", "for" or "and". */
export function placesIn(question: string): string[] {
  const found = question.matchAll(
    /\b(?:in|for|and|of)\s+(\p{Lu}[\p{L}-]*(?:\s\p{Lu}[\p{L}-]*)*)/gu,
  );
  return [...found].map((match) => match[1] ?? "").filter((place) => place !== "");
}

function mergeAll(schemas: unknown[], context: Context): unknown {
  const values = schemas.map((schema) => build(schema, context));
  return values.every((value) => asObject(value) !== null)
    ? Object.assign({}, ...values)
    : values[0];
}
