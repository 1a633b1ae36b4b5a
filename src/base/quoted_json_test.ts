import assert from "@std/assert";
import { parseExactly } from "./exact_json.ts";
import { type QuotedJson, quoteJson, unquoteJson } from "./quoted_json.ts";
import { finish } from "./steps.ts";

const values: readonly unknown[] = [
  null,
  "",
  [],
  ["\ufeff", "\ud83d", "\0", '"', "\\"],
  Array(3_000).fill({ role: "user", content: [{ text: 'a"\\\n\u{1f600}é\0'.repeat(30) }] }),
  "\u{1f600}é".repeat(200_000),
];

Deno.test("a quoted text is the JSON string of a JSON text", () => {
  for (const value of values) {
    const quoted = finish(quoteJson(value));
    assert.ok(parseExactly(new TextDecoder().decode(quoted)) === JSON.stringify(value));
    assert.ok(finish(unquoteJson(quoted)) === JSON.stringify(value));
    // A message to another thread copies the whole buffer.
    assert.equal(quoted.buffer.byteLength, quoted.length);
  }
});

Deno.test("a quoted text is read whole, wherever its escapes lie", () => {
  // Pieces of 128 KiB end at each place in these, whose lengths have no factor two.
  for (const text of ["\\u0001 é", "\\\\\\\\\\", '\\"\\\\a', "\\".repeat(11), "\u{1f600}\\n😀"]) {
    const whole = text.repeat(60_000);
    const quoted = new TextEncoder().encode(JSON.stringify(whole)) as QuotedJson;
    assert.ok(finish(unquoteJson(quoted)) === whole, text);
  }
  const controls = "\x01a".repeat(90_000);
  const quoted = new TextEncoder().encode(JSON.stringify(controls));
  assert.ok(finish(unquoteJson(quoted)) === controls);
});

Deno.test("each step of a long text is short", () => {
  const value = Array(4_000).fill({ text: 'é"\\'.repeat(100) });
  const quoting = quoteJson(value);
  let steps = 0;
  let step = quoting.next();
  for (; !step.done; step = quoting.next()) steps++;
  const reading = unquoteJson(step.value);
  assert.ok(steps > 8, `${steps} steps`);
  for (steps = 0; !reading.next().done;) steps++;
  assert.ok(steps > 12, `${steps} steps`);
});
