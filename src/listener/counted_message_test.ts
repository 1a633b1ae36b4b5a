import assert from "@std/assert";
import { Socket } from "node:net";
import { Readable } from "node:stream";
import { ChunkWatch, CountedMessage } from "./counted_message.ts";

Deno.test("a body that is cancelled while its bytes arrive throws nowhere", async () => {
  const message = new CountedMessage(new Socket());
  const reader = Readable.toWeb(message).getReader();
  message.push(new Uint8Array(8));
  await reader.read();
  message.push(new Uint8Array(8));
  void reader.cancel().catch(() => {});
  message.push(new Uint8Array(8));
  let got = 0;
  message.on("data", () => got++);
  message.emit("data", new Uint8Array(8));
  assert.equal(got, 0);
  await new Promise((resolve) => setTimeout(resolve, 5));
});

/** A body in chunks of which `bytesRead` bytes had been read when it was first looked at. */
function followed(bytesRead: number) {
  const message = new CountedMessage(new Socket());
  const watch = new ChunkWatch();
  watch.follow(message);
  assert.ok(!watch.hasTooMuch(bytesRead));
  return { message, watch };
}

Deno.test("around a body's chunks 8 KiB may stand, and 64 bytes more for each", () => {
  const { message, watch } = followed(300);
  assert.ok(!watch.hasTooMuch(300 + 8192));
  assert.ok(watch.hasTooMuch(300 + 8193));
  message.push(new Uint8Array(1000));
  message.push(new Uint8Array(1000));
  assert.ok(!watch.hasTooMuch(300 + 2000 + 8192 + 128));
  assert.ok(watch.hasTooMuch(300 + 2000 + 8193 + 128));
});

Deno.test("what came together with the head counts for nothing, the body's first bytes neither", () => {
  const message = new CountedMessage(new Socket());
  const watch = new ChunkWatch();
  message.push(new Uint8Array(500));
  watch.follow(message);
  assert.ok(!watch.hasTooMuch(20_000));
  assert.ok(!watch.hasTooMuch(20_000 + 8192 + 64));
  assert.ok(watch.hasTooMuch(20_000 + 8193 + 64));
});

Deno.test("a body that is complete, or none, has nothing around it; the next one begins again", () => {
  const { message, watch } = followed(0);
  message.push(null);
  assert.deepEqual([message.bodyBytes, message.pieces], [0, 0]);
  message.complete = true;
  assert.ok(!watch.hasTooMuch(1_000_000));
  message.complete = false;
  assert.ok(!watch.hasTooMuch(2_000_000), "it is over");
  assert.ok(!new ChunkWatch().hasTooMuch(1_000_000));
  watch.follow(new CountedMessage(new Socket()));
  assert.ok(!watch.hasTooMuch(3_000_000));
  assert.ok(watch.hasTooMuch(3_000_000 + 8193));
});
