/** Faults in the words and codes of the vendor whose dialects are chat and responses. */
import { asArray, asObject, asText, type JsonObject } from "./json.ts";
import { Problem } from "./problem.ts";
import { findFault, type Finding, kindOf, type Rules } from "./rules.ts";

/** Throws a 400 Problem for the first fault of `value` at `path` (empty for the body itself). */
export function require(value: unknown, rules: Rules, path: string, closed: boolean): JsonObject {
  const object = asObject(value);
  if (object === null) {
    throw invalid(path, "invalid_type", typeMessage(path, "an object", value));
  }
  const fault = findFault(object, rules, closed);
  if (fault) throw problemOf(fault, path);
  return object;
}

/** A 400 Problem about one parameter. */
export function invalid(param: string, code: string, message: string): Problem {
  return new Problem(400, message, { code, param });
}

/** Throws a 400 Problem if the vendor would refuse the pairs that a request is to be stored with. */
export function requireMetadata(body: JsonObject): void {
  const pairs = Object.entries(asObject(body.metadata) ?? {});
  if (pairs.length > 16) {
    throw invalid(
      "metadata",
      "object_above_max_properties",
      "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, " +
        `but got an object with ${pairs.length} properties instead.`,
    );
  }
  for (const [name, value] of pairs) {
    const param = join("metadata", name);
    if (typeof value !== "string") {
      throw invalid(param, "invalid_type", typeMessage(param, "a string", value));
    }
    if (value.length > 512) {
      throw invalid(
        param,
        "string_above_max_length",
        `Invalid '${param}': string too long. Expected a string with maximum length 512, but got ` +
          `a string with length ${value.length} instead.`,
      );
    }
  }
}

/** Joins a path and a field: `messages[0]` and `content` to `messages[0].content`. */
export function join(path: string, field: string): string {
  return path === "" ? field : `${path}.${field}`;
}

function problemOf(fault: Finding, path: string): Problem {
  const param = join(path, fault.field);
  switch (fault.what) {
    case "unknown":
      return invalid(param, "unknown_parameter", `Unknown parameter: '${param}'.`);
    case "missing":
      return invalid(
        param,
        "missing_required_parameter",
        `Missing required parameter: '${param}'.`,
      );
    case "type":
      return invalid(param, "invalid_type", typeMessage(param, `a ${fault.expected}`, fault.got));
    case "range": {
      const edge = fault.expected.startsWith("<") ? "above maximum" : "below minimum";
      const code = `${kindOf(fault.got)}_${edge.replace("imum", "").replace(" ", "_")}_value`;
      return invalid(
        param,
        code,
        `Invalid '${param}': ${kindOf(fault.got)} ${edge} value. Expected a value ` +
          `${fault.expected}, but got ${fault.got} instead.`,
      );
    }
    case "value":
      return invalid(
        param,
        "invalid_value",
        `Invalid value: '${fault.got}'. Supported values are: ${fault.expected}.`,
      );
  }
}

function typeMessage(param: string, expected: string, got: unknown): string {
  return `Invalid type for '${param}': expected ${expected}, but got ${kindOf(got)} instead.`;
}

const TOP_LEVEL_REFUSED = ["oneOf", "anyOf", "allOf", "enum", "const", "not"];

const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Checks a function's name and its parameters' schema as the strict vendor does. */
export function requireFunction(definition: JsonObject, path: string): void {
  const name = asText(definition.name);
  if (!FUNCTION_NAME.test(name)) {
    throw invalid(
      join(path, "name"),
      "invalid_value",
      `Invalid '${join(path, "name")}': string does not match pattern '${FUNCTION_NAME.source}'.`,
    );
  }
  const schema = asObject(definition.parameters);
  if (schema === null) return;
  const subject = `function '${name}'`;
  if (schema.type !== "object") {
    throw invalidSchema(path, subject, `schema must be a JSON Schema of 'type: "object"'`);
  }
  if (TOP_LEVEL_REFUSED.some((keyword) => schema[keyword] !== undefined)) {
    const names = TOP_LEVEL_REFUSED.map((keyword) => `'${keyword}'`).join("/");
    const rule = `schema must have type 'object' and not have ${names} at the top level.`;
    throw invalidSchema(path, subject, rule);
  }
  if (schema.properties === undefined) {
    throw invalidSchema(path, subject, "In context=(), object schema missing properties.");
  }
  requireSchema(schema, definition.strict === true, path, subject, []);
}

/** Checks the schema of an answer. Its root must be an object, not alternatives. */
export function requireAnswerSchema(
  schema: JsonObject,
  { name, strict }: JsonObject,
  path: string,
): void {
  const subject = `response_format '${asText(name)}'`;
  if (schema.type !== "object" || schema.anyOf !== undefined || schema.oneOf !== undefined) {
    const got = schema.type ?? "None";
    const rule = `schema must be a JSON Schema of 'type: "object"', got 'type: "${got}"'.`;
    throw invalidSchema(path, subject, rule);
  }
  requireSchema(schema, strict === true, path, subject, []);
}

/** Throws unless the vendor accepts the schema; strict schemas must close every object. */
function requireSchema(
  node: JsonObject,
  isStrict: boolean,
  path: string,
  subject: string,
  trail: string[],
): void {
  const where = `In context=(${trail.map((name) => `'${name}'`).join(", ")}), `;
  if ([node.type].flat().includes("array") && !isSchema(node.items)) {
    throw invalidSchema(path, subject, `${where}array schema missing items.`);
  }
  const properties = asObject(node.properties) ?? {};
  if (isStrict && (node.type === "object" || node.properties)) {
    if (node.additionalProperties !== false) {
      throw invalidSchema(
        path,
        subject,
        `${where}'additionalProperties' is required to be supplied and to be false.`,
      );
    }
    const missing = Object.keys(properties).find((name) => !asArray(node.required).includes(name));
    if (missing !== undefined) {
      throw invalidSchema(
        path,
        subject,
        `${where}'required' is required to be supplied and to be an array including every key ` +
          `in properties. Missing '${missing}'.`,
      );
    }
  }
  for (const [name, child] of Object.entries(properties)) {
    const inner = asObject(child);
    if (inner) requireSchema(inner, isStrict, path, subject, [...trail, "properties", name]);
  }
  const items = asObject(node.items);
  if (items) requireSchema(items, isStrict, path, subject, [...trail, "items"]);
}

function isSchema(value: unknown): boolean {
  return typeof value === "boolean" || asObject(value) !== null;
}

function invalidSchema(path: string, subject: string, message: string): Problem {
  return new Problem(400, `Invalid schema for ${subject}: ${message}`, {
    code: subject.startsWith("function") ? "invalid_function_parameters" : "invalid_json_schema",
    param: path,
  });
}
