import assert from "@std/assert";
import { foldEvents } from "../../kernel/fold.ts";
import { createStreamDecoder } from "./stream_decoder.ts";

const more = "more";
const stop = "stop";
/** Elements with text, with and without a finish reason, and whether the last of them may be the end. */
const streams: [elements: string[], choices: number, mayEnd: boolean][] = [
  [[more], 1, false],
  [[more, stop], 1, true],
  [[more, stop], 2, false],
  // Servers that repeat the reason in each element, or give several.
  [[stop], 1, false],
  [[stop, stop], 1, false],
  [[more, stop, more], 1, false],
  [[more, stop, more, stop], 1, false],
];

for (const [elements, choices, mayEnd] of streams) {
  const title = `${elements.join(", ")} of ${choices} candidates`;
  Deno.test(`a generate stream ${mayEnd ? "may" : "may not"} end after ${title}`, () => {
    const decoder = createStreamDecoder({}, choices);
    assert.equal(decoder.mayEnd, false);
    for (const element of elements) {
      const finishReason = element === stop ? { finishReason: "STOP" } : {};
      const data = JSON.stringify({
        candidates: [{ content: { parts: [{ text: "a" }] }, ...finishReason }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
      });
      decoder.decode({ event: undefined, data, bytes: new Uint8Array(), terminated: true });
    }
    assert.equal(decoder.mayEnd, mayEnd);
    assert.equal(decoder.mayBeWhole, elements.includes(stop) && choices === 1);
  });
}

Deno.test("long integers keep their digits in arguments that come in pieces, and hold no others", () => {
  const long = "1234567890123456789";
  const calls = [
    `{"name": "f", "args": {"a": ${long}, "b": ${long}}, "willContinue": true}`,
    `{"partialArgs": [{"jsonPath": "$.c", "numberValue": ${long}}, {"jsonPath": "$.b.d", "boolValue": true}]}`,
  ];
  const decoder = createStreamDecoder({});
  const events = calls.flatMap((call, at) => {
    const reason = at === 0 ? "" : ', "finishReason": "STOP"';
    const data = `{"candidates": [{"content": {"parts": [{"functionCall": ${call}}]}${reason}}]}`;
    return decoder.decode({ data, bytes: new Uint8Array(), terminated: true }).events;
  });
  const { choices } = foldEvents([...events, ...decoder.end().events]);
  assert.equal(choices[0]!.parts[0]!.text, `{"a":${long},"b":{"d":true},"c":${long}}`);
});
