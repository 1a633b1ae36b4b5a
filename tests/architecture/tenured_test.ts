import assert from "@std/assert";
import { checkTenured } from "./tenured.ts";

function findings(text: string, path = "src/relay/a.ts"): string[] {
  return checkTenured(new Map([[path, text]])).map(({ message }) => message);
}

Deno.test("what a call would leave in the old generation is found", () => {
  const found = [
    "function a(room) { room.release = () => room; }",
    "function a(room) { room.#release ??= function () { return room; }; }",
    'function a(room) { room["x"] = async () => room; }',
    "function a(call) { return { get left() { return call; } }; }",
    "const a = (call) => ({ set left(left) { call.left = left; } });",
    "function a(call) { return class { left() { return call; } }; }",
    "function a(call) { return function* () { yield call; }; }",
    "function a(call) { return { *each() { yield call; } }; }",
    "class A { a() { return { async *each() { yield this; } }; } }",
  ];
  for (const text of found) assert.equal(findings(text).length, 1, text);
  assert.equal(findings(found[0]!, "contracts/a.ts").length, 1);
});

Deno.test("what is made once, lives in a class or is named first is left alone", () => {
  const fine = [
    "function a(room) { const release = () => room; room.release = release; }",
    "class A { #x = 0; readonly f = () => this.#x; get left() { return this.#x; } *b() { yield 1; } }",
    "const a = { get left() { return 1; } };",
    "function* a() { yield 1; }",
    "const each = function* () { yield 1; };",
    "function a(call) { return { left: () => call, right() { return call; } }; }",
  ];
  for (const text of fine) assert.deepEqual(findings(text), [], text);
  assert.deepEqual(findings("a.b = () => 1;", "src/dashboard/a.ts"), []);
  assert.deepEqual(findings("a.b = () => 1;", "src/relay/a_test.ts"), []);
});
