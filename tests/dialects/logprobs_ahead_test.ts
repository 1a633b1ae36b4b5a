/** Many log-probabilities are read in steps, in whole answers and in one event of a stream. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import type { SseEvent } from "../../src/base/sse.ts";
import { dialects } from "./translated.ts";

const tokens = Array.from({ length: 2_000 }, (_, at) => (
  { token: "a", logprob: -at, bytes: [97], top_logprobs: [{ token: "b", logprob: -at - 1 }] }
));
const scored = {
  chosenCandidates: tokens.map(({ token, logprob }) => ({ token, logProbability: logprob })),
};
const part = { type: "output_text", text: "hi", annotations: [], logprobs: tokens };
const item = { type: "message", id: "m", role: "assistant", content: [part, part] };
const short = { ...part, logprobs: tokens.slice(-400) };
const manyShort = { ...item, content: Array(20).fill(short) };
const response = { id: "r", status: "completed", output: [item] };
const choice = { index: 0, logprobs: { content: tokens }, finish_reason: "stop" };
const generated = {
  candidates: [{
    content: { parts: [{ text: "hi" }] },
    logprobsResult: scored,
    finishReason: "STOP",
  }],
};
const at = { item_id: "m", output_index: 0, content_index: 0 };

/** Per list of 2,000, three steps end within it. */
const events = {
  "chat": ["chat", { choices: [{ ...choice, delta: { content: "hi" } }] }, 3],
  "responses, a delta": ["responses", {
    ...at,
    ...part,
    delta: "hi",
    type: "response.output_text.delta",
  }, 3],
  "responses, a part": ["responses", { ...at, part, type: "response.content_part.done" }, 3],
  "responses, an item": ["responses", { ...at, item, type: "response.output_item.done" }, 6],
  "responses, many short lists": ["responses", {
    ...at,
    item: manyShort,
    type: "response.output_item.done",
  }, 10],
  "responses, all of it": ["responses", { response, type: "response.completed" }, 6],
  "generate": ["generate", generated, 3],
} as const;

for (const [what, [name, json, steps]] of Object.entries(events)) {
  Deno.test(`${what}: an event is the same if its log-probabilities are read ahead`, () => {
    const data = JSON.stringify(json);
    const event: SseEvent = { bytes: new TextEncoder().encode(data), data, terminated: true };
    const plain = dialects[name].createStreamDecoder({}, 1).decode({ ...event });
    assert.ok(data.includes("-1999") && JSON.stringify(plain).includes("-1999"));
    const decoder = dialects[name].createStreamDecoder({}, 1);
    const entries: { token: string }[] = [];
    const parsed = JSON.parse(data, (_name, one) => {
      if (one?.token !== undefined) entries.push(one);
      return one;
    });
    assert.equal([...decoder.readAhead!(parsed)].length, steps);
    for (const entry of entries) entry.token = "read again";
    assert.deepEqual(decoder.decode({ ...event, json: parsed }), plain);
  });
}

const wholes = {
  chat: [{ choices: [{ ...choice, message: { content: "hi" } }] }, 4],
  responses: [response, 7],
  generate: [generated, 4],
} as const;

for (const [name, [json, steps]] of Object.entries(wholes)) {
  Deno.test(`${name}: a whole answer's log-probabilities are read in steps`, () => {
    const { decodeAnswer } = dialects[name as keyof typeof wholes];
    assert.equal([...decodeAnswer(json, {})].length, steps);
    assert.match(JSON.stringify(finish(decodeAnswer(json, {}))), /-1999/);
  });
}
