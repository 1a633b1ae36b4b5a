import assert from "@std/assert";
import { finish } from "./steps.ts";
import { writeJson } from "./write_json.ts";

const long = 'a"\\\n\u{1f600}é'.repeat(60_000);

Deno.test("what is written in steps is what JSON.stringify writes", () => {
  const values: unknown[] = [
    null,
    1.5,
    "",
    "\ud83d",
    [],
    {},
    { a: undefined, b: [undefined, 1], "": { c: undefined } },
    [long, 1, long],
    { [long]: long, small: 1 },
    Array(50_000).fill({ type: "text", text: "a" }),
    { messages: Array(3_000).fill({ role: "user", content: [{ text: "a".repeat(300) }] }), x: 1 },
    [[Array(200_000).fill(1), 2], { a: Array(200_000).fill({}), b: undefined }, []],
    Array(300).fill("\ud83d".repeat(2_000)),
    `${"a".repeat(256 * 1024 - 1)}\u{1f600}b`,
  ];
  for (const value of values) assert.ok(finish(writeJson(value)) === JSON.stringify(value));
});

Deno.test("so are values of any kind, long ones among them", () => {
  const random = mulberry(7);
  const leaves = [long, "", "\ud83d", 1e21, -0, true, null, undefined, Array(90_000).fill(1), {}];
  const make = (depth: number): unknown => {
    const kind = depth > 4 ? 0 : random() * 3 | 0;
    const many = random() * 6 | 0;
    if (kind === 0) return leaves[random() * leaves.length | 0];
    if (kind === 1) return Array.from({ length: many }, () => make(depth + 1));
    return Object.fromEntries(Array.from({ length: many }, (_, at) => [`k${at}`, make(depth + 1)]));
  };
  for (let run = 0; run < 30; run++) {
    const value = { one: make(0) };
    assert.ok(finish(writeJson(value)) === JSON.stringify(value), `run ${run}`);
  }
});

Deno.test("a large value takes many steps", () => {
  const count = (value: unknown) => [...writeJson(value)].length;
  assert.ok(count("a".repeat(10_000_000)) > 30);
  assert.ok(count({ a: Array(20_000).fill({ b: "c".repeat(500) }) }) > 30);
});

/** Numbers from 0 to 1, the same in each run. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}
