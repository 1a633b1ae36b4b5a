import assert from "@std/assert";
import { maxChars, OutputWriter } from "./output_writer.ts";

Deno.test("text of a block that waits for its turn counts too, so that it can't fill the memory", () => {
  const writer = new OutputWriter((prefix) => prefix, () => {});
  for (const block of [0, 1]) {
    const content = { kind: "tool-call", id: `c${block}`, name: "f", custom: false } as const;
    writer.add({ type: "block-start", choice: 0, block, content });
  }
  const text = "x".repeat(maxChars / 16);
  const waits = () => writer.add({ type: "block-delta", choice: 0, block: 1, text });
  for (let piece = 0; piece < 16; piece++) waits();
  assert.throws(waits, { code: "upstream_invalid_response" });
});
