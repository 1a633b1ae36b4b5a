import assert from "@std/assert";
import { Socket } from "node:net";
import { Readable } from "node:stream";
import { CountedMessage } from "./counted_message.ts";

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
