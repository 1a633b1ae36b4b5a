/** Answers whose choices are numbered wrong, for callers of another dialect. */
import assert from "@std/assert";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { framesOf, type Payload } from "./recordings.ts";
import {
  bytesOf,
  dialects,
  type Name,
  names,
  type Passage,
  readWhole,
  relayStream,
} from "./translated.ts";
import { finish } from "../../src/base/steps.ts";

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

for (
  const [vendor, whole] of [
    ["chat", { choices: [0, 0].map((index) => ({ index, message, finish_reason: "stop" })) }],
    ["generate", { candidates: [0, 0].map((index) => ({ index, content, finishReason: "STOP" })) }],
  ] as const
) {
  Deno.test(`choices of a ${vendor} answer that are all numbered 0 stay apart`, () => {
    const caller = vendor === "chat" ? "generate" : "chat";
    const { choices } = foldEvents(readWhole({ vendor, caller, choices: 2 }, whole));
    assert.deepEqual(choices.map(({ parts }) => parts.map((part) => part.text)), [
      ["second"],
      ["second"],
    ]);
  });
}

for (
  const [vendor, answerOf] of [
    ["chat", (count: number) => ({ choices: Array(count).fill({ delta: message, message }) })],
    ["generate", (count: number) => ({ candidates: Array(count).fill({ content }) })],
  ] as const
) {
  Deno.test(`a ${vendor} answer has at most 128 choices, whole or streamed`, () => {
    const { createStreamDecoder, decodeAnswer } = dialects[vendor];
    const read = (count: number) => {
      const data = JSON.stringify(answerOf(count));
      const event = { bytes: bytesOf(`data: ${data}\n\n`), data, terminated: true };
      return [
        () => finish(decodeAnswer(answerOf(count), {})),
        () => createStreamDecoder({}, count).decode(event),
      ];
    };
    for (const act of read(128)) act();
    for (const act of read(129)) assert.throws(act, { code: "upstream_invalid_response" });
  });
}
