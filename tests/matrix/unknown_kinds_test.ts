/** What vendors' dialects have got since this was written: named by default, dropped when lenient. */
import assert from "@std/assert";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService({}, { database: "any" }));

const user = { role: "user", content: "Say hello." };
const gemini = "vendor-d/gemini-2.5-flash";
const asked = (content: unknown) => ({ role: "user", content });

/** Path, body, and the place that is named. */
const cases: readonly [string, Readonly<Record<string, unknown>>, string][] = [
  ["responses", { input: [user, { type: "zebra", stripes: 2 }] }, "input[1]"],
  ["responses", { input: [{ type: "configuration_update" }, user] }, "input[0]"],
  [
    "responses",
    { input: [asked([{ type: "input_text", text: "Hi" }, { type: "input_smell" }])] },
    "input[0].content[1]",
  ],
  ["responses", { input: "Hi", tools: [{ type: "nose" }] }, "tools[0]"],
  ["responses", { input: "Hi", text: { format: { type: "xml" } } }, "text.format"],
  [
    "messages",
    { max_tokens: 50, messages: [asked([{ type: "text", text: "Hi" }, { type: "smell" }])] },
    "messages[0].content[1]",
  ],
  [
    "messages",
    { max_tokens: 50, messages: [user], tools: [{ type: "nose_20270101", name: "nose" }] },
    "tools[0]",
  ],
  [
    "chat/completions",
    { messages: [asked([{ type: "text", text: "Hi" }, { type: "smell" }])] },
    "messages[0].content[1]",
  ],
  ["chat/completions", { messages: [user], tools: [{ type: "nose" }] }, "tools[0]"],
  [
    "chat/completions",
    { messages: [user], response_format: { type: "xml" } },
    "response_format",
  ],
];

Deno.test("generate: an unknown part is named, and dropped when lenient", async () => {
  const path = "/chat/v1/models/vendor-c/claude-haiku-4-5:generateContent";
  const body = { contents: [{ parts: [{ text: "Hi" }, { smell: "roses" }] }] };
  const refused = await service().post(path, body);
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /contents\[0\]\.parts\[1\]: /);
  const answered = await service().post(path, body, { "x-translation-mode": "lenient" });
  await answered.body?.cancel();
  assert.equal(answered.status, 200);
  assert.equal(
    answered.headers.get("x-translation-loss"),
    "contents[0].parts[1],contents[0].parts[1].smell",
  );
});

for (const [path, body, place] of cases) {
  Deno.test(`${path}: an unknown ${place} is named, and dropped when lenient`, async () => {
    const call = (mode: Record<string, string>) =>
      service().post(`/chat/v1/${path}`, { model: gemini, ...body }, mode);
    const refused = await call({});
    const { error } = await refused.json() as { error: { code: string; message: string } };
    assert.deepEqual([refused.status, error.code], [400, "unsupported_parameter"]);
    assert.ok(error.message.startsWith(`${place}: `), error.message);
    const answered = await call({ "x-translation-mode": "lenient" });
    await answered.body?.cancel();
    assert.equal(answered.status, 200);
    assert.equal(answered.headers.get("x-translation-loss"), place);
  });
}

Deno.test("messages: a new type of thinking is a hint, the effort beside it counts", async () => {
  const answered = await service().post("/chat/v1/messages", {
    ...{ model: gemini, max_tokens: 50, messages: [user] },
    thinking: { type: "as_it_likes" },
    output_config: { effort: "low" },
  });
  await answered.body?.cancel();
  assert.equal(answered.status, 200);
  assert.equal(answered.headers.get("x-translation-loss"), "thinking");
});
