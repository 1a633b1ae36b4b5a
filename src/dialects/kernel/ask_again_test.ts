import assert from "@std/assert";
import { finish } from "../../base/steps.ts";
import { askAgain } from "./ask_again.ts";
import { answerText, requestWords } from "./prompt_text.ts";
import { chat } from "../text/chat/mod.ts";
import { generate } from "../text/generate/mod.ts";
import { messages } from "../text/messages/mod.ts";
import { responses } from "../text/responses/mod.ts";

Deno.test("a chat request is asked again whole, of the other model, without its tags", () => {
  const { body, bodyText } = askAgain(
    chat,
    `{"stream": true, "model":"vendor-b/old", "seed": 12345678901234567890, "temperature": 1.0,
      "stream_options": {"include_usage": true}, "x_own": {"a": 1e2},
      "messages":[{"role":"user","content":"/// COHORT c\\n/// APP a\\nHow \\u00e4re you?"}]}`,
    "vendor-c/new",
  );
  const request = body as Record<string, unknown>;
  assert.deepEqual(Object.keys(request), ["seed", "temperature", "x_own", "messages", "model"]);
  assert.equal(request.model, "vendor-c/new");
  assert.deepEqual(request.messages, [{ role: "user", content: "How äre you?" }]);
  for (const kept of ["12345678901234567890", "1.0", '{"a": 1e2}', '"How \\u00e4re you?"']) {
    assert.ok(bodyText.includes(kept), kept);
  }
  assert.deepEqual(JSON.parse(bodyText), body);
});

Deno.test("every dialect's request loses tags and streaming, and gets the model where it belongs", () => {
  const told = "/// FLOW f\nHello";
  const asked = askAgain(
    messages,
    JSON.stringify({
      ...{ model: "claude", max_tokens: 9, stream: true, system: "/// APP a\nBe kind." },
      messages: [{ role: "user", content: [{ type: "text", text: told }] }],
    }),
    "vendor-b/x",
  );
  assert.deepEqual(asked.body, {
    ...{ max_tokens: 9, system: "Be kind.", model: "vendor-b/x" },
    messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
  });
  const kept = askAgain(
    responses,
    JSON.stringify({ model: "m", stream: true, store: true, background: false, input: told }),
    "vendor-b/x",
  );
  assert.deepEqual(kept.body, { input: "Hello", model: "vendor-b/x", store: false });
  const native = askAgain(
    generate,
    JSON.stringify({ contents: [{ role: "user", parts: [{ text: told }] }] }),
    "vendor-d/x",
  );
  const contents = [{ role: "user", parts: [{ text: "Hello" }] }];
  assert.deepEqual(native.body, { contents, model: "vendor-d/x", stream: false });
  assert.deepEqual(JSON.parse(native.bodyText), { contents });
});

Deno.test("a request is asked again for as many answers as the vendor will read", () => {
  const body = (name: string) => `{"asked_again":[],"${name}":100}`;
  const seen = [1, 2].map(() => JSON.parse(body("\\\\")) as unknown);
  for (const dialect of [chat, generate]) {
    const asked = askAgain(dialect, body("\\u006e"), "m").body as { n?: number };
    assert.equal(asked.n, 100, dialect.name);
  }
  assert.equal(seen.length, 2);
});

Deno.test("a text that is not a JSON object can't be sent again", () => {
  for (const text of ["", "[]", '{"model": "m", "messages": [{"ro', "3"]) {
    assert.throws(() => askAgain(chat, text, "m"));
  }
});

Deno.test("an answer's words are the first choice's, without reasoning", () => {
  const answer = {
    id: "r",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "Yes.", reasoning_content: "Hm." },
        finish_reason: "stop",
      },
      { index: 1, message: { role: "assistant", content: "No." }, finish_reason: "stop" },
    ],
  };
  assert.equal(answerText(chat, answer), "Yes.");
});

Deno.test("a request's texts have their roles", () => {
  const request = finish(chat.decodeRequest({
    model: "m",
    messages: [
      { role: "system", content: "Be kind." },
      { role: "user", content: "Hello" },
      { role: "assistant", content: "Hi" },
      { role: "user", content: "How are you?" },
    ],
  }));
  assert.equal(
    requestWords(request),
    "system: Be kind.\n\nuser: Hello\n\nassistant: Hi\n\nuser: How are you?",
  );
});
