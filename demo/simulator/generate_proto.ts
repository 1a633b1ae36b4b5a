/**
 * Reads a request as the generate vendor does, by the rules of protobuf JSON: names in camel or
 * snake case, unknown names refused, null the same as absent, 64-bit integers also as text.
 */
import { type Fields, MESSAGES, SCHEMA_TYPES } from "./generate_fields.ts";
import { asObject, type JsonObject } from "./json.ts";
import { Problem } from "./problem.ts";

/** Returns the message with all names in camel case. Throws a 400 Problem for what doesn't fit. */
export function readMessage(value: unknown, kind: string, path: string): JsonObject {
  const object = asObject(value);
  if (object === null) throw invalidValue(path, kind, value);
  const fields: Fields = MESSAGES[kind] ?? {};
  const out: JsonObject = {};
  for (const [name, inner] of Object.entries(object)) {
    const camel = name.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
    const type = Object.hasOwn(fields, camel) ? fields[camel] : undefined;
    if (type === undefined) throw unknownName(name, path);
    if (inner === null && type !== "any") continue;
    out[camel] = readValue(inner, type, path === "" ? snake(camel) : `${path}.${snake(camel)}`);
  }
  return out;
}

/** A 400 Problem with the vendor's words for a semantic fault. */
export function badRequest(message: string): Problem {
  return new Problem(400, message, { code: "INVALID_ARGUMENT" });
}

function readValue(value: unknown, type: string, path: string): unknown {
  if (type.endsWith("[]")) {
    if (!Array.isArray(value)) throw invalidValue(path, "list", value);
    return value.map((item, index) => readValue(item, type.slice(0, -2), `${path}[${index}]`));
  }
  if (type.endsWith("{}")) {
    const object = asObject(value);
    if (object === null) throw invalidValue(path, "map", value);
    return Object.fromEntries(
      Object.entries(object).map(([name, item], index) => [
        name,
        readValue(item, type.slice(0, -2), `${path}[${index}].value`),
      ]),
    );
  }
  switch (type) {
    case "any":
      return value;
    case "Struct":
      if (asObject(value) === null) throw invalidValue(path, "Struct", value);
      return value;
    case "Type": {
      const upper = typeof value === "string" ? value.toUpperCase() : "";
      if (!SCHEMA_TYPES.includes(upper)) throw invalidValue(path, "TYPE_ENUM", value);
      return upper;
    }
    case "integer": {
      const number = typeof value === "string" ? Number(value) : value;
      if (!Number.isInteger(number)) throw invalidValue(path, "TYPE_INT32", value);
      return number;
    }
    case "string":
    case "number":
    case "boolean": {
      const actual: string = typeof value;
      if (actual !== type) throw invalidValue(path, `TYPE_${type.toUpperCase()}`, value);
      return value;
    }
    default:
      return readMessage(value, type, path);
  }
}

function unknownName(name: string, path: string): Problem {
  const where = path === "" ? "" : ` at '${path}'`;
  return badRequest(
    `Invalid JSON payload received. Unknown name "${name}"${where}: Cannot find field.`,
  );
}

function invalidValue(path: string, type: string, value: unknown): Problem {
  const shown = typeof value === "string" ? "a string" : JSON.stringify(value)?.slice(0, 40);
  return badRequest(`Invalid value at '${path}' (${type}), ${shown}`);
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
