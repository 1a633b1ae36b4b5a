import assert from "@std/assert";
import { JsonCount, maxNameUnits } from "../base/json_count.ts";
import { finish } from "../base/steps.ts";
import { Fault } from "./fault.ts";
import { maxLongIdentifiers, refuseLongIdentifiers } from "./long_identifiers.ts";

const long = "x".repeat(maxNameUnits + 1);
const fits = "x".repeat(maxNameUnits);

/** The field that a body is refused for. */
function refused(body: unknown): string | undefined {
  try {
    finish(refuseLongIdentifiers(body));
    return undefined;
  } catch (thrown) {
    assert.ok(thrown instanceof Fault);
    const { code, param, message } = thrown as Fault;
    assert.equal(code, "invalid_value");
    assert.ok(message.length < 1000);
    return param;
  }
}

const many = <T>(value: T) => Array<T>(maxLongIdentifiers + 1).fill(value);

Deno.test("a body may have a few long identifiers, of whatever name, and no more", () => {
  const last = maxLongIdentifiers;
  for (
    const [body, path] of [
      [{ tool_calls: many({ id: long }) }, `tool_calls[${last}].id`],
      [many({ function: { name: long } }), `[${last}].function.name`],
      [{ a: many({ tool_use_id: long }) }, `a[${last}].tool_use_id`],
      [{ contents: many({ mimeType: long }) }, `contents[${last}].mimeType`],
      [{ s: many({ $anchor: long }) }, `s[${last}].$anchor`],
      [{ required: many(long) }, `required[${last}]`],
      [{ allowedFunctionNames: [{}, [many(long)]] }, `allowedFunctionNames[1][0][${last}]`],
      [{ ["y".repeat(500)]: { ids: many(long) } }, `${"y".repeat(100)}.ids[${last}]`],
    ] as const
  ) {
    assert.equal(refused(body), path);
    const text = JSON.stringify(body);
    assert.equal(refused(JSON.parse(text.replace(long + '"', '"'))), undefined, path);
    assert.equal(refused(JSON.parse(text.replaceAll(long + '"', fits + '"'))), undefined, path);
  }
});

Deno.test("texts may be long", () => {
  const texts = {
    text: long,
    content: [long],
    data: long,
    url: long,
    arguments: long,
    stop: [long],
  };
  for (const value of [texts, { input: texts }, [[texts]]]) {
    assert.equal(refused({ messages: many(value), name: "a", id: [] }), undefined);
  }
  for (const value of [null, 1, long, many(long)]) assert.equal(refused(value), undefined);
});

Deno.test("long strings are counted in a text, in one piece or many", () => {
  const text = JSON.stringify([fits, long, { a: long, b: [fits + '"', "x"] }]);
  for (const size of [1e9, 1000, 7]) {
    const count = new JsonCount({ values: 1e9, depth: 128, members: 1e9, names: 1e6 });
    for (let at = 0; at < text.length; at += size) count.add(text.slice(at, at + size));
    assert.equal(count.longStrings, 3, `${size}`);
  }
});
