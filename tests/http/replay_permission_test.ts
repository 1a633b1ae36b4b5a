import assert from "@std/assert";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService());

const hello = [{ role: "user", content: "hello" }];
const contents = [{ role: "user", parts: [{ text: "hello" }] }];

/** A call of every kind whose answer is stored under its caller's id. */
const calls: readonly [path: string, body: unknown][] = [
  ["/chat/v1/chat/completions", { model: "vendor-b/gpt-4.1", messages: hello }],
  ["/vendor-b/v1/chat/completions", { model: "gpt-4.1", messages: hello, stream: true }],
  ["/chat/v1/responses", { model: "vendor-b/gpt-4.1", input: "hello" }],
  ["/chat/v1/messages", { model: "vendor-c/claude-sonnet-4-6", max_tokens: 9, messages: hello }],
  ["/vendor-d/v1beta/models/gemini-2.5-flash:generateContent", { contents }],
  ["/vendor-d/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", { contents }],
  ["/vendor-b/v1/embeddings", { model: "text-embedding-3-small", input: "hello" }],
  ["/imagen/v1/generate", { model: "vendor-b/gpt-image-1", prompt: "a bridge" }],
  ["/tts/v1/generate", { model: "vendor-b/tts-1", text: "hello", voice: "alloy" }],
  ["/api/v1/evals", {
    filters: {},
    model: "vendor-b/gpt-4.1",
    graders: [{ type: "contains", value: "a" }],
  }],
];

for (const [path, body] of calls) {
  Deno.test(`a key that may not call the model gets no answer of it, new or stored: ${path}`, async () => {
    const { key, createKey, baseUrl } = service();
    const narrow = await createKey("--models", "vendor-g/grok-4.3");
    const id = `replay of ${path}`.replaceAll(" ", "-");
    const post = async (secret: string, named: Record<string, string> = { "x-request-id": id }) => {
      const answer = await fetch(baseUrl + path, {
        method: "POST",
        headers: {
          authorization: `Bearer ${secret}`,
          "content-type": "application/json",
          ...named,
        },
        body: JSON.stringify(body),
      });
      return {
        status: answer.status,
        text: await answer.text(),
        isReplay: answer.headers.get("x-idempotent-replay") === "true",
      };
    };
    const first = await post(key);
    assert.ok(first.status === 200 || first.status === 202, first.text.slice(0, 200));
    for (const refused of [await post(narrow.key), await post(narrow.key, {})]) {
      assert.equal(refused.status, 403, refused.text.slice(0, 200));
      assert.match(refused.text.slice(0, 500), /may not call/);
    }
    const again = await post(key);
    assert.deepEqual([again.status, again.isReplay], [first.status, true]);
  });
}

Deno.test("a key's models limit its calls: it reads and continues its account's response of another model", async () => {
  const { key, createKey, baseUrl } = service();
  const narrow = await createKey("--models", "vendor-g/grok-4.3");
  const ask = async (secret: string, path: string, body?: unknown) => {
    const answer = await fetch(baseUrl + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, json: await answer.json() };
  };
  const path = "/chat/v1/responses";
  const { json: { id } } = await ask(key, path, { model: "vendor-b/gpt-4.1", input: "hello" });
  assert.deepEqual([(await ask(narrow.key, `${path}/${id}`)).json.id], [id]);
  const more = { input: "and now?", previous_response_id: id };
  assert.equal((await ask(narrow.key, path, { ...more, model: "vendor-g/grok-4.3" })).status, 200);
  assert.equal((await ask(narrow.key, path, { ...more, model: "vendor-b/gpt-4.1" })).status, 403);
});
