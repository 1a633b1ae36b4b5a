/** A request on its way from a caller's dialect to a vendor's, as a table of cases describes it. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import type { CanonicalRequest } from "../../src/dialects/kernel/canonical_request.ts";
import type { EncodedRequest } from "../../src/dialects/kernel/dialect.ts";
import { Fault } from "../../src/shared/fault.ts";
import { dialects, type Name } from "./translated.ts";

type Json = Record<string, unknown>;

/** One case of protocols/pitfalls.md, named by its number. */
export interface Crossing {
  case: string;
  from: Name;
  to: Name;
  /** The vendor's model; one without peculiarities where it doesn't matter. */
  model?: string;
  /** The caller's body beside what every request needs. */
  body: Json;
  /** What the vendor's body holds: objects by the members named here, lists whole. */
  gives?: Json;
  /** Words that appear nowhere in the vendor's body. */
  never?: readonly string[];
  /** All losses, as `path weight`; not looked at where absent. */
  losses?: readonly string[];
  /** The fault that refuses the request, as `code param`. */
  fault?: string;
  /** More about what was encoded. */
  also?: (encoded: EncodedRequest) => void;
}

const models: Readonly<Record<Name, string>> = {
  chat: "gpt-4.1",
  responses: "gpt-4.1",
  messages: "claude-sonnet-4-5",
  generate: "gemini-2.0-flash",
};

export function decode(from: Name, body: Json): CanonicalRequest {
  return finish(dialects[from].decodeRequest({ model: "asked-model", ...body }));
}

/** The caller's body as the vendor gets it. */
export function cross(row: Pick<Crossing, "from" | "to" | "model" | "body">): EncodedRequest {
  const model = row.model ?? models[row.to];
  return finish(dialects[row.to].encodeRequest(decode(row.from, row.body), {
    model,
    maxOutputTokens: undefined,
  }));
}

export function registerCrossings(rows: readonly Crossing[]): void {
  for (const row of rows) {
    Deno.test(`pitfall ${row.case} (${row.from} → ${row.to})`, () => checkCrossing(row));
  }
}

function checkCrossing(row: Crossing): void {
  if (row.fault !== undefined) return checkRefused(row, row.fault);
  const encoded = cross(row);
  // What is sent is JSON: members without a value aren't there.
  const body: unknown = JSON.parse(JSON.stringify(encoded.body));
  if (row.gives) contains(body, row.gives, "body");
  for (const word of row.never ?? []) {
    assert.ok(!JSON.stringify(body).includes(word), `the vendor's body holds ${word}`);
  }
  if (row.losses) {
    const told = encoded.losses.map(({ path, weight }) => `${path} ${weight}`);
    assert.deepEqual(told.toSorted(), row.losses.toSorted());
  }
  row.also?.(encoded);
}

/** Refused by a fault, or by a loss that changes the meaning, which the gateway refuses. */
function checkRefused(row: Crossing, expected: string): void {
  let told: string[];
  try {
    told = cross(row).losses.filter(({ weight }) => weight === "meaning")
      .map(({ path }) => `unsupported_parameter ${path}`);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    assert.ok(thrown.message.startsWith(thrown.param ?? "?"), "the message begins with the path");
    told = [`${thrown.code} ${thrown.param}`];
  }
  assert.ok(told.includes(expected), `refused as ${told.join(", ") || "nothing"}`);
}

/** `undefined` in what is expected means that the member isn't there. */
function contains(actual: unknown, expected: unknown, path: string): void {
  if (Array.isArray(expected)) {
    const isList = Array.isArray(actual) && actual.length === expected.length;
    assert.ok(isList, `${path}: ${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`);
    expected.forEach((one, at) => contains((actual as unknown[])[at], one, `${path}[${at}]`));
  } else if (typeof expected === "object" && expected !== null) {
    assert.ok(
      typeof actual === "object" && actual !== null,
      `${path} is ${JSON.stringify(actual)}`,
    );
    for (const [key, value] of Object.entries(expected)) {
      contains((actual as Json)[key], value, `${path}.${key}`);
    }
  } else {
    assert.deepEqual(actual, expected, path);
  }
}

// Builders of the callers' words.

export const user = (content: unknown) => ({ role: "user", content });
export const assistant = (content: unknown) => ({ role: "assistant", content });
export const hello = [user("hello")];

export function call(id: string, name = "f", args = '{"x":1}'): Json {
  return { id, type: "function", function: { name, arguments: args } };
}

export function calls(...list: Json[]): Json {
  return { role: "assistant", content: null, tool_calls: list };
}

export function result(id: string, content: unknown): Json {
  return { role: "tool", tool_call_id: id, content };
}

export function tool(name = "f", more: Json = {}): Json {
  return { type: "function", function: { name, ...more } };
}

export function objectSchema(properties: Json, more: Json = {}): Json {
  return { type: "object", properties, ...more };
}

export function jsonSchema(schema: Json, more: Json = {}): Json {
  return { type: "json_schema", json_schema: { name: "answer", schema, ...more } };
}
