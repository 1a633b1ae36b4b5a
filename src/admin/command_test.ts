import assert from "@std/assert";
import { readInput } from "./command.ts";

Deno.test("the input is read to its end, over the borders of its pieces", async () => {
  const bytes = new TextEncoder().encode("a key – with more than ASCII\n");
  const pieces = Array.from(bytes, (_, at) => bytes.slice(at, at + 1));
  assert.equal(await readInput(ReadableStream.from(pieces)), "a key – with more than ASCII\n");
  assert.equal(await readInput(ReadableStream.from([])), "");
});

Deno.test("an endless input is refused before it fills the memory", async () => {
  const endless = async function* () {
    for (;;) yield await Promise.resolve(new Uint8Array(1024));
  };
  await assert.rejects(readInput(ReadableStream.from(endless())), /at most 65536 bytes/);
});
