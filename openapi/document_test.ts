import assert from "@std/assert";
import { Ajv2020 } from "ajv/dist/2020.js";
import { allContracts } from "../contracts/mod.ts";
import { buildDocument } from "./document.ts";
import type { Operation } from "./shapes.ts";

const document = buildDocument("3.1.0", "1.0.0");
const operations: Operation[] = Object.values(document.paths).flatMap((item) =>
  Object.values(item)
);

Deno.test("a contract that changes is a document that changes", () => {
  const contracts = allContracts();
  const [first, ...rest] = contracts;
  const changed = { ...first!, summary: "Something else" };
  const texts = [contracts, [changed, ...rest]].map((each) =>
    JSON.stringify(buildDocument("3.1.0", "1.0.0", each))
  );
  assert.notEqual(texts[0], texts[1]);
});

Deno.test("every contract is in the document once, under a name that makes a method", () => {
  const ids = operations.map((operation) => operation.operationId);
  assert.equal(ids.length, allContracts().length);
  assert.deepEqual(ids.filter((id, at) => ids.indexOf(id) !== at), []);
  assert.deepEqual(ids.filter((id) => !/^[a-z][A-Za-z0-9]*$/.test(id)), []);
});

Deno.test("calls that are recorded take X-Record, and nothing else does", () => {
  const takes = operations.filter(({ parameters = [] }) =>
    parameters.some((one) => "$ref" in one && one.$ref === "#/components/parameters/Record")
  );
  const recorded = allContracts().filter(({ interaction }) => interaction);
  assert.deepEqual(
    takes.map(({ operationId }) => operationId).sort(),
    recorded.map(({ operationId }) => operationId).sort(),
  );
});

Deno.test("Retry-After and X-Should-Retry are there where a vendor's error may carry them", () => {
  const asking = new Set(
    allContracts().filter(({ interaction, operationId }) =>
      interaction === true || operationId.startsWith("count")
    ).map(({ operationId }) => operationId),
  );
  assert.ok(asking.size > 20);
  const vendors = ["400", "401", "403", "404", "413", "429", "502", "503", "504"];
  for (const { operationId, responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      const { headers = {} } = response as { headers?: object };
      const expected = asking.has(operationId) ? vendors.includes(status) : status === "401";
      assert.equal("X-Should-Retry" in headers, expected, `${operationId} ${status}`);
      if (asking.has(operationId) && vendors.includes(status)) {
        assert.ok("Retry-After" in headers, `${operationId} ${status}`);
      }
    }
  }
});

Deno.test("a field that may be null has null among its values", () => {
  const wrong: string[] = [];
  visit([document.components.schemas, document.paths], "", (schema, path) => {
    const isNullable = Array.isArray(schema.type) && schema.type.includes("null");
    if (isNullable && schema.enum?.includes(null) === false) wrong.push(path);
  });
  assert.deepEqual(wrong, []);
});

Deno.test("an export that isn't finished says when to ask again, as documented", () => {
  const { responses } = operations.find((one) => one.operationId === "streamExport")!;
  const answer = responses["409"]!;
  assert.ok("headers" in answer && answer.headers?.["Retry-After"] !== undefined);
});

Deno.test("every field of every schema says what it is", () => {
  const silent: string[] = [];
  visit(document.components.schemas, "", (schema, path) => {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      // Beside a reference the description stands in an alternative, or where it leads to.
      const said = [field, ...field.allOf ?? [], component(field.$ref)].some((each) =>
        each?.description !== undefined
      );
      if (!said) silent.push(`${path}/${name}`);
    }
  });
  visit(document.paths, "", (schema, path) => {
    if (schema.in !== undefined && schema.description === undefined) silent.push(path);
  });
  assert.deepEqual(silent, []);
});

Deno.test("what occurs twice has a name", () => {
  const places = new Map<string, string[]>();
  visit([document.components.schemas, document.paths], "", (schema, path) => {
    const fields = Object.keys(schema.properties ?? {});
    // Components stand right below the list of them.
    if (schema.type !== "object" || fields.length < 2 || /^\/0\/\w+$/.test(path)) return;
    const text = JSON.stringify(schema.properties);
    places.set(text, [...places.get(text) ?? [], path]);
  });
  assert.deepEqual([...places.values()].filter((paths) => paths.length > 1), []);
});

Deno.test("null belongs to the field that may be null, not to the named part", () => {
  const nullable = Object.entries(document.components.schemas as Record<string, Node>).filter(
    ([, schema]) => Array.isArray(schema.type) && schema.type.includes("null"),
  );
  assert.deepEqual(nullable.map(([name]) => name), []);
});

Deno.test("where null was one of two alternatives, 3.0 has the other one alone", () => {
  const single: string[] = [];
  visit(buildDocument("3.0.3", "1.0.0"), "#", ({ anyOf }, path) => {
    if (anyOf?.length === 1) single.push(path);
  });
  assert.deepEqual(single, []);
});

Deno.test("every request and every good answer has an example", () => {
  const without = operations.flatMap((operation) => {
    const parts = [operation.requestBody, ...Object.values(operation.responses)];
    const media = parts.flatMap((part) =>
      part !== undefined && "content" in part ? Object.entries(part.content ?? {}) : []
    );
    return media.filter(([type, { examples }]) =>
      !/^(\*\/\*|audio\/\w+)$/.test(type) &&
      Object.keys(examples ?? {}).length === 0
    ).map(([type]) => `${operation.operationId} ${type}`);
  });
  assert.deepEqual(without, []);
});

Deno.test("every example is what its schema says", () => {
  // Each schema checks one or two examples: optimising it takes longer than that saves.
  const quick = { code: { optimize: false }, inlineRefs: false } as const;
  const ajv = new Ajv2020({ ...quick, strict: false, validateFormats: false });
  ajv.addSchema(document, "document");
  const wrong: string[] = [];
  visit(document.paths, "#/paths", (media, path) => {
    if (media.schema === undefined) return;
    const schema = { $ref: `document${path}/schema` };
    // A parameter's.
    if (media.example !== undefined && !ajv.validate(schema, media.example)) {
      wrong.push(`${path}: ${ajv.errorsText()}`);
    }
    for (const [name, example] of Object.entries(media.examples ?? {})) {
      const value = example.$ref === undefined ? example.value : shared(example.$ref);
      if (!ajv.validate(schema, value)) wrong.push(`${path} ${name}: ${ajv.errorsText()}`);
    }
  });
  assert.deepEqual(wrong, []);
});

function shared($ref: string): unknown {
  const examples = document.components.examples as Record<string, { value: unknown }>;
  return examples[$ref.slice("#/components/examples/".length)]?.value;
}

function component($ref: string | undefined): Node | undefined {
  return document.components.schemas[$ref?.split("/").at(-1) ?? ""] as Node | undefined;
}

interface Node {
  $ref?: string;
  type?: unknown;
  in?: unknown;
  description?: string;
  enum?: readonly unknown[];
  properties?: Record<string, Node>;
  allOf?: readonly Node[];
  anyOf?: readonly Node[];
  schema?: unknown;
  example?: unknown;
  examples?: Record<string, { $ref?: string; value?: unknown }>;
}

/** Every object below a value, with its JSON pointer, as it stands in a URI. */
function visit(value: unknown, path: string, look: (node: Node, path: string) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) look(value, path);
  for (const [key, inner] of Object.entries(value)) {
    if (key !== "value" && key !== "example") visit(inner, `${path}/${escaped(key)}`, look);
  }
}

function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));
}
