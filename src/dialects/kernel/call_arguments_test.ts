import assert from "@std/assert";
import { callArguments } from "./call_arguments.ts";

const call = { type: "tool-call", id: "c", name: "f", custom: false, path: "p" } as const;
const read = (text: string, custom = false) => callArguments({ ...call, arguments: text, custom });

Deno.test("a call's arguments are an object", () => {
  assert.deepEqual(read('{"a":1}'), { a: 1 });
  assert.deepEqual(read(" "), {});
  assert.deepEqual(read("words", true), { input: "words" });
});

Deno.test("arguments that are no object are refused, too long ones with the limit", () => {
  const refused = "the arguments of the tool call 'c' must be a JSON object";
  for (const text of ["[1]", "words", '{"a":']) {
    assert.throws(() => read(text), { message: `p: ${refused}.` });
  }
  const long = JSON.stringify({ a: "x".repeat(2 * 1024 * 1024) });
  assert.throws(() => read(long), {
    message: `p: ${refused} of at most 2,097,152 characters.`,
  });
});
