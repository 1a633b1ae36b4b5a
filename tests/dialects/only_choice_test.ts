/** An answer to a request for one choice that lacks it, for callers of another dialect. */
import assert from "@std/assert";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { framesOf, type Payload } from "./recordings.ts";
import { type Name, names, type Passage, readWhole, relayStream } from "./translated.ts";

const content = { role: "model", parts: [{ text: "second" }] };
const message = { role: "assistant", content: "second" };
const answers: [what: string, vendor: Name, stream: Payload, whole: Payload][] = [
  [
    "its only candidate numbered from 1",
    "generate",
    { candidates: [{ index: 1, content, finishReason: "STOP" }] },
    { candidates: [{ index: 1, content, finishReason: "STOP" }] },
  ],
  [
    "its only choice numbered from 1",
    "chat",
    { choices: [{ index: 1, delta: message, finish_reason: "stop" }] },
    { choices: [{ index: 1, message, finish_reason: "stop" }] },
  ],
];
for (const [what, vendor, stream, whole] of answers) {
  for (const caller of names.filter((name) => name !== vendor)) {
    const read = (choices?: number) => {
      const passage: Passage = { vendor, caller, ...(choices ? { choices } : {}) };
      return [
        () => relayStream(passage, framesOf(vendor, [stream])).text,
        () => JSON.stringify(foldEvents(readWhole(passage, whole))),
      ];
    };
    Deno.test(`a ${vendor} answer with ${what} is invalid to ${caller} callers who ask for one`, () => {
      for (const act of read()) assert.throws(act, { code: "upstream_invalid_response" });
    });

    Deno.test(`a ${vendor} answer with ${what} is read for ${caller} callers who ask for two`, () => {
      for (const act of read(2)) act();
    });
  }
}
