import assert from "@std/assert";
import { chat } from "../dialects/text/chat/mod.ts";
import { generate } from "../dialects/text/generate/mod.ts";
import { messages } from "../dialects/text/messages/mod.ts";
import { responses } from "../dialects/text/responses/mod.ts";
import { readTranscript } from "./transcript.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";

const sha256 = "ab".repeat(32);
const lifted = {
  sha256,
  bytes: 100_000,
  mime_type: "image/png",
  url: `/api/v1/media/${sha256}`,
};
const pixel = "iVBORw0KGgo=";

/** The same words in each dialect: a picture stored apart, and one that stands in the payload. */
const requests: readonly (readonly [Dialect, unknown])[] = [
  [chat, {
    model: "m",
    temperature: 0.5,
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image_url", image_url: { url: lifted } },
          { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } },
        ],
      },
    ],
  }],
  [responses, {
    model: "m",
    temperature: 0.5,
    instructions: "Be brief.",
    input: [{
      role: "user",
      content: [
        { type: "input_text", text: "Look" },
        { type: "input_image", image_url: lifted },
        { type: "input_image", image_url: `data:image/png;base64,${pixel}` },
      ],
    }],
  }],
  [messages, {
    model: "m",
    max_tokens: 10,
    temperature: 0.5,
    system: "Be brief.",
    messages: [{
      role: "user",
      content: [
        { type: "text", text: "Look" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: lifted } },
        { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
      ],
    }],
  }],
  [generate, {
    generationConfig: { temperature: 0.5 },
    systemInstruction: { parts: [{ text: "Be brief." }] },
    contents: [{
      role: "user",
      parts: [
        { text: "Look" },
        { inlineData: { mimeType: "image/png", data: lifted } },
        { inlineData: { mimeType: "image/png", data: pixel } },
      ],
    }],
  }],
];

for (const [dialect, body] of requests) {
  Deno.test(`a stored ${dialect.name} request reads as what was said, media by where it is`, async () => {
    const { request, answers } = await readTranscript(dialect, {
      request: JSON.stringify(body),
      response: null,
    });
    assert.equal(answers, undefined);
    assert.deepEqual(request?.turns, [
      { role: "system", name: undefined, parts: [{ type: "text", text: "Be brief." }] },
      {
        role: "user",
        name: undefined,
        parts: [
          { type: "text", text: "Look" },
          {
            type: "media",
            kind: "image",
            mimeType: "image/png",
            source: { type: "stored", sha256 },
          },
          {
            type: "media",
            kind: "image",
            mimeType: "image/png",
            source: { type: "inline", data: pixel },
          },
        ],
      },
    ]);
    assert.deepEqual(request?.settings.find(({ name }) => name === "Temperature")?.value, "0.5");
  });

  Deno.test(`a ${dialect.name} request that is cut anywhere reads as far as it goes`, async () => {
    const text = JSON.stringify(body);
    let most = 0;
    for (let end = 0; end < text.length; end += 3) {
      const { request } = await readTranscript(dialect, {
        request: text.slice(0, end),
        response: text.slice(0, end),
      });
      most = Math.max(most, request?.turns.length ?? 0);
    }
    assert.equal(most, 2);
  });
}

Deno.test("tools appear by name, in calls and in results", async () => {
  const { request } = await readTranscript(chat, {
    request: JSON.stringify({
      model: "m",
      messages: [
        { role: "user", content: "Go" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content: "done" },
      ],
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
    }),
    response: null,
  });
  assert.deepEqual(request?.turns.slice(1), [
    {
      role: "assistant",
      name: undefined,
      parts: [{ type: "tool-call", id: "c", name: "f", arguments: "{}" }],
    },
    {
      role: "tool",
      name: undefined,
      parts: [{
        type: "tool-result",
        callId: "c",
        name: "f",
        isError: false,
        parts: [{ type: "text", text: "done" }],
      }],
    },
  ]);
  assert.deepEqual(request?.tools, [
    { name: "f", description: undefined, parameters: '{"type":"object"}' },
  ]);
});

const dialects = { chat, responses, messages, generate };

Deno.test("recorded answers of every dialect are read", async () => {
  const folder = new URL("../../tests/fixtures/answers/", import.meta.url);
  for (const [name, dialect] of Object.entries(dialects)) {
    for await (const { name: file } of Deno.readDir(new URL(name, folder))) {
      if (!file.endsWith(".json")) continue;
      const response = await Deno.readTextFile(new URL(`${name}/${file}`, folder));
      const { answers } = await readTranscript(dialect, { request: null, response });
      assert.ok(answers && answers.length > 0, `${name}/${file}`);
    }
  }
});

Deno.test("settings that only the call's own vendor takes don't hide what was said", async () => {
  const odd = {
    ...{ model: "m", messages: [{ role: "user", content: "hi" }], seed: 7 },
    ...{ temperature: "0.5", reasoning: "high", tools: [{ type: "function", function: "f" }] },
  };
  const { request } = await readTranscript(chat, { request: JSON.stringify(odd), response: null });
  assert.deepEqual(request?.turns.map(({ role }) => role), ["user"]);
  assert.deepEqual(request?.settings, [{ name: "Seed", value: "7" }]);
  const unsaid = { ...odd, messages: [{ role: "user", content: 7 }] };
  const many = "temperature top_p top_k n seed frequency_penalty presence_penalty verbosity user";
  const manyOdd = { ...odd, ...Object.fromEntries(many.split(" ").map((name) => [name, {}])) };
  for (const body of [unsaid, manyOdd]) {
    const text = JSON.stringify(body);
    const { request: none } = await readTranscript(chat, { request: text, response: null });
    assert.equal(none, undefined);
  }
});

Deno.test("other JSON is not a conversation", async () => {
  for (const text of ["", "no JSON", "{}", "[1]", "null", '{"error":{"message":"no"}}']) {
    const read = await readTranscript(chat, { request: text, response: text });
    assert.equal(read.request, undefined, text);
    assert.equal(read.answers, undefined, text);
  }
  const unknown = await readTranscript(undefined, { request: "{}", response: "{}" });
  assert.deepEqual(unknown, { request: undefined, answers: undefined });
});
