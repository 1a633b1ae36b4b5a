import assert from "@std/assert";
import { formatArray, parseArray } from "./arrays.ts";

const text = (element: string) => element;

Deno.test("an array's elements survive writing and reading, whatever they hold", () => {
  const arrays: readonly (readonly (string | null | readonly string[])[])[] = [
    [],
    [""],
    ["a", null, "NULL", "null", " b "],
    ['"', "\\", '\\"', "{", "}", ",", "a,b", "{a,b}", "\n", "ü漢👩‍👩‍👧"],
    [["a", "b,"], ["", '"']],
  ];
  for (const array of arrays) assert.deepEqual(parseArray(formatArray(array), text), array);
});

Deno.test("elements are read by the given function, nulls aside", () => {
  assert.deepEqual(parseArray("{1,NULL,-9223372036854775808}", BigInt), [1n, null, -(2n ** 63n)]);
  assert.deepEqual(parseArray("{t,f}", (element) => element === "t"), [true, false]);
});

Deno.test("times, numbers and flags are written as PostgreSQL reads them", () => {
  const at = new Date("2026-01-02T03:04:05.006Z");
  assert.equal(formatArray([at, 1n, 2, true]), '{"2026-01-02T03:04:05.006Z","1",2,true}');
});

Deno.test("a literal that was cut is refused", () => {
  for (const cut of ["{", "{1", '{"a', '{"a"', "{{1}"]) {
    assert.throws(() => parseArray(cut, text), /too early/, cut);
  }
});
