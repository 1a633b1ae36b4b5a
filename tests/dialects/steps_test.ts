import assert from "@std/assert";
import { chat } from "../../src/dialects/text/chat/mod.ts";
import { generate } from "../../src/dialects/text/generate/mod.ts";
import { messages } from "../../src/dialects/text/messages/mod.ts";
import { responses } from "../../src/dialects/text/responses/mod.ts";
import { finish, type Steps } from "../../src/base/steps.ts";

const dialects = { chat, messages, responses, generate };
const models = {
  chat: "gpt-5-mini",
  messages: "claude-haiku-5-5",
  responses: "gpt-5-mini",
  generate: "gemini-2.5-flash",
};
const turns = 100;
const parts = 1_000;

const content = (part: unknown) => Array(parts).fill(part);
const said = (part: unknown) => Array(turns).fill({ role: "user", content: content(part) });
const bodies = {
  chat: { model: "m", messages: said({ type: "text", text: "a" }) },
  messages: { model: "m", max_tokens: 9, messages: said({ type: "text", text: "a" }) },
  responses: { model: "m", input: said({ type: "input_text", text: "a" }) },
  generate: {
    model: "m",
    stream: false,
    contents: Array(turns).fill({ role: "user", parts: content({ text: "a" }) }),
  },
};

const names = ["chat", "messages", "responses", "generate"] as const;

for (const name of names) {
  Deno.test(`a long ${name} request is decoded and encoded in short steps`, () => {
    const decoded = counted(dialects[name].decodeRequest(bodies[name]));
    assert.ok(decoded.steps >= turns, `decoded in ${decoded.steps}`);
    assert.deepEqual(decoded.value, finish(dialects[name].decodeRequest(bodies[name])));
    for (const other of names) {
      const target = { model: models[other], maxOutputTokens: 100 };
      const encoded = counted(dialects[other].encodeRequest(decoded.value, target));
      assert.ok(encoded.steps >= turns, `encoded for ${other} in ${encoded.steps}`);
    }
  });
}

function counted<T>(work: Steps<T>): { value: T; steps: number } {
  for (let steps = 1;; steps++) {
    const step = work.next();
    if (step.done) return { value: step.value, steps };
  }
}
