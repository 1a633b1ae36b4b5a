import assert from "@std/assert";
import { count, innerJson, miscounts, unixTime } from "./json.ts";

Deno.test("a count is whole and no larger than numbers that can be counted with", () => {
  const counts: [unknown, number | undefined][] = [
    [3, 3],
    [3.9, undefined],
    [-2, undefined],
    [0, 0],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    [1e21, undefined],
    [Infinity, undefined],
    [NaN, undefined],
    ["3", undefined],
    [null, undefined],
  ];
  for (const [value, expected] of counts) assert.equal(count(value), expected, String(value));
});

Deno.test("a time is one that a calendar has", () => {
  for (const [value, expected] of [[0, 0], [1_700_000_000.5, 1_700_000_000], [1e13, undefined]]) {
    assert.equal(unixTime(value), expected);
  }
  const last = unixTime(253_402_300_799)!;
  assert.equal(new Date(last * 1000).toISOString(), "9999-12-31T23:59:59.000Z");
});

Deno.test("a value that is not a count is a miscount, a missing one is not", () => {
  for (const value of [-1, 0.5, "7", 1e300, NaN, {}, true]) {
    assert.equal(miscounts({ a: 1, b: value }, "a", "b"), true, String(value));
  }
  for (const value of [0, 7, null, undefined]) {
    assert.equal(miscounts({ a: 1, b: value, c: -1 }, "a", "b"), false, String(value));
  }
});

Deno.test("any JSON in a field is read, and nothing else", () => {
  for (const value of [{}, [1], "a", "", 0, -1.5e-7, 12e30, true, false, null]) {
    for (const text of [JSON.stringify(value), ` \t\r\n${JSON.stringify(value)}\n `]) {
      assert.deepEqual(innerJson(text), value, text);
    }
  }
  const others = ["", " ", "done", "Done: {}", "12 files", "  1\tlet a = 1;", "- a", "true story"];
  for (const text of [...others, "{", "\u00a0{}", "-", "1e", "[a]"]) {
    assert.equal(innerJson(text), undefined, text);
  }
  const most = 2 * 1024 * 1024 - 2;
  assert.equal((innerJson(`"${"x".repeat(most)}"`) as string).length, most);
  assert.equal(innerJson(`"${"x".repeat(most + 1)}"`), undefined);
});
