import assert from "@std/assert";
import { readRows } from "./json_rows.ts";

async function rows(text: string, size = 1): Promise<unknown[]> {
  const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
  return await Array.fromAsync(readRows(ReadableStream.from(pieces)));
}

Deno.test("elements come out whole, wherever the text is cut", async () => {
  const wanted = [{ a: ']},{[\\"' }, [1, [2]], "x,y", 17, null, true, {}, [], ""];
  for (const size of [1, 2, 3, 5, 1000]) {
    assert.deepEqual(await rows(JSON.stringify(wanted), size), wanted);
    assert.deepEqual(await rows(` ${JSON.stringify(wanted, null, 2)}\n`, size), wanted);
  }
  assert.deepEqual(await rows("[]"), []);
  assert.deepEqual(await rows("[\n]\n"), []);
});

Deno.test("an array that ends early, or is none, is an error", async () => {
  for (const text of ["", "[", "[1,2", '[{"a":1}', '{"a":[1]}', "[1,]x".slice(0, 3)]) {
    await assert.rejects(rows(text), SyntaxError, text);
  }
});
