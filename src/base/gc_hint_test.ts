import assert from "@std/assert";
import { createGcHint, released } from "./gc_hint.ts";

Deno.test("the engine looks each time that so many bytes were left, and not before", () => {
  const looks: unknown[] = [];
  const garbage = createGcHint(100, "minor", (options) => looks.push(options));
  garbage.addReleased(60);
  assert.deepEqual(looks, []);
  garbage.addReleased(60);
  assert.deepEqual(looks, [{ type: "minor" }]);
  garbage.addReleased(99);
  assert.equal(looks.length, 1);
  garbage.addReleased(1000);
  assert.equal(looks.length, 2);
});

Deno.test("the collection has the type that was asked for", () => {
  const looks: unknown[] = [];
  createGcHint(10, "major", (options) => looks.push(options)).addReleased(10);
  assert.deepEqual(looks, [{ type: "major" }]);
});

Deno.test("without the runtime's leave nothing happens", () => {
  createGcHint(1, "major", undefined).addReleased(10);
});

Deno.test("a large buffer is freed at once, a view of one and a small one are left alone", () => {
  const large = new Uint8Array(300_000);
  const view = new Uint8Array(new ArrayBuffer(400_000), 0, 300_000);
  const small = new Uint8Array(100);
  for (const one of [large, view, small]) released(one);
  assert.deepEqual([large.length, view.length, small.length], [0, 300_000, 100]);
});
