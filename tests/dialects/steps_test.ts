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

Deno.test("cache marks beyond those that a messages vendor takes are removed in short steps", () => {
  const marked = { type: "text", text: "a", cache_control: { type: "ephemeral" } };
  const [plain = 0, removed = 0] = [said({ type: "text", text: "a" }), said(marked)].map((list) => {
    const request = finish(messages.decodeRequest({ ...bodies.messages, messages: list }));
    const target = { model: models.messages, maxOutputTokens: 100 };
    return counted(messages.encodeRequest(request, target)).steps;
  });
  assert.ok(removed - plain > turns * parts / 32, `${removed} steps, without marks ${plain}`);
});

for (const name of names) {
  Deno.test(`a turn with many calls is encoded for ${name} in short steps`, () => {
    let reads = 0;
    const count = 8_000;
    const request = finish(chat.decodeRequest(manyCalls(count)));
    for (const { parts } of request.turns) {
      for (const part of parts) {
        if (part.type !== "tool-result") continue;
        const { callId, isError } = part;
        Object.defineProperties(part, {
          callId: { enumerable: true, get: () => (reads++, callId) },
          isError: { enumerable: true, get: () => (reads++, isError) },
        });
      }
    }
    const target = { model: models[name], maxOutputTokens: 100 };
    const work = dialects[name].encodeRequest(request, target);
    let longest = 0;
    for (let isDone = false; !isDone;) {
      reads = 0;
      isDone = work.next().done === true;
      longest = Math.max(longest, reads);
    }
    assert.ok(longest < count / 2, `${longest} reads of a result in one step`);
  });
}

for (const name of ["messages", "generate"] as const) {
  Deno.test(`calls of one turn with large arguments are encoded for ${name} a few at a time`, () => {
    const request = finish(chat.decodeRequest(manyCalls(64)));
    let read = 0;
    for (const part of request.turns.flatMap((turn) => turn.parts)) {
      if (part.type !== "tool-call") continue;
      const text = part.arguments;
      Object.defineProperty(part, "arguments", { enumerable: true, get: () => (read++, text) });
    }
    const target = { model: models[name], maxOutputTokens: 100 };
    const work = dialects[name].encodeRequest(request, target);
    let longest = 0;
    for (let isDone = false; !isDone; longest = Math.max(longest, read)) {
      read = 0;
      isDone = work.next().done === true;
    }
    // Arguments are read a few times, and those of one call may take milliseconds.
    assert.ok(longest <= 40, `${longest} reads of arguments in one step`);
  });
}

Deno.test("a generate content with many calls is decoded in short steps", () => {
  const parts = Array(10_000).fill({ functionCall: { name: "f" } });
  const { steps } = counted(generate.decodeRequest({ model: "m", contents: [{ parts }] }));
  assert.ok(steps > 10, `decoded in ${steps}`);
});

function manyCalls(count: number) {
  const ids = Array.from({ length: count }, (_, index) => `call_${index}`);
  const tool_calls = ids.map((id) => ({
    ...{ id, type: "function" },
    function: { name: "f", arguments: "{}" },
  }));
  const results = ids.map((tool_call_id) => ({ role: "tool", tool_call_id, content: "a" }));
  return {
    model: "m",
    messages: [{ role: "user", content: "a" }, { role: "assistant", tool_calls }, ...results],
  };
}

function counted<T>(work: Steps<T>): { value: T; steps: number } {
  for (let steps = 1;; steps++) {
    const step = work.next();
    if (step.done) return { value: step.value, steps };
  }
}
