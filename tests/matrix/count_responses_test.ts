/** What vendors are asked for when a request is counted by responses. */
import assert from "@std/assert";
import { writeEnvelope } from "../../src/dialects/text/responses/conversation/envelope.ts";
import { shared } from "../support/service.ts";
import { scriptedLabel, scriptedModel, startScriptedVendors } from "./scripted_vendors.ts";
import { vendorWords } from "./vendor_words.ts";
import type { Json } from "./wire.ts";

const service = shared(() => startScriptedVendors());
const model = `${scriptedLabel("responses")}/${scriptedModel}`;
const path = "/chat/v1/responses/input_tokens";
const counted = { object: "response.input_tokens", input_tokens: 42 };

function lastSent(): { path: string; body: Json } {
  const { path, body } = service().vendor.requests.at(-1)!;
  return { path, body: JSON.parse(body) };
}

Deno.test("a vendor of the dialect gets what a call would send, without fields of the answer", async () => {
  const word = service().script((exchange) => exchange.answer(200, counted));
  const sealed = writeEnvelope({ dialect: "messages", kind: "signature", value: "v" });
  const said = { role: "user", content: word };
  const kept = { instructions: "Be brief.", reasoning: { effort: "low" }, x_new: 1 };
  const answer = await service().post(path, {
    model,
    input: [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: sealed }, said],
    ...kept,
    ...{ store: true, stream: true, include: ["reasoning.encrypted_content"], temperature: 1 },
  });
  assert.deepEqual(await answer.json(), counted);
  assert.equal(answer.headers.get("x-token-count"), null);
  const sent = lastSent();
  assert.match(sent.path, /\/responses\/input_tokens$/);
  assert.deepEqual(sent.body, { model: scriptedModel, input: [said], ...kept });
});

Deno.test("state of the vendor's that an answer names doesn't bar what continues it", async () => {
  const call = { type: "code_interpreter_call", id: "ci_1", status: "completed" };
  const ran = { ...call, code: "1", container_id: "cntr_1", outputs: null };
  const word = service().script((exchange) =>
    exchange.request.path.endsWith("/input_tokens")
      ? exchange.answer(200, counted)
      : exchange.answer(200, { ...vendorWords.responses.whole, output: [ran] })
  );
  const first = await service().post("/chat/v1/responses", { model, input: word });
  const { id } = await first.json();
  const next = { model, input: "And then?", previous_response_id: id };
  const answer = await service().post(path, next);
  assert.deepEqual(await answer.json(), counted);
  assert.deepEqual((lastSent().body.input as unknown[])[1], ran);
  assert.equal(lastSent().body.previous_response_id, undefined);
  const own = await service().post(path, { model, input: [{ role: "user", content: word }, ran] });
  const { error } = await own.json();
  assert.deepEqual([error.code, error.param], [
    "unsupported_parameter",
    "input[1].container_id",
  ]);
});

Deno.test("an answer without a usable count is counted here, what is no object is refused", async () => {
  const count = async (answered: unknown) => {
    const word = service().script((exchange) => exchange.answer(200, answered as Json));
    const answer = await service().post(path, { model, input: word });
    const { input_tokens: tokens } = await answer.json();
    return { status: answer.status, isEstimate: answer.headers.get("x-token-count"), tokens };
  };
  for (const input_tokens of [null, undefined, -1, 1.5, "42", {}]) {
    const { tokens, ...answer } = await count({ ...counted, input_tokens });
    assert.deepEqual(answer, { status: 200, isEstimate: "estimated" }, String(input_tokens));
    assert.ok(tokens > 0);
  }
  assert.equal((await count([])).status, 502);
});

for (const status of [404, 405, 410]) {
  Deno.test(`a vendor that answers ${status} has no endpoint for it: we estimate`, async () => {
    const message = "Cannot POST /v1/responses/input_tokens: no such endpoint";
    const word = service().script((exchange) => exchange.answer(status, { error: { message } }));
    const answer = await service().post(path, { model, input: word });
    assert.equal(answer.headers.get("x-token-count"), "estimated");
    assert.ok((await answer.json()).input_tokens > 0);
  });
}

Deno.test("an estimate can't look up state in a vendor's account, so it is refused as its call", async () => {
  const model = `${scriptedLabel("chat")}/${scriptedModel}`;
  const source = { type: "file", file_id: "file_1" };
  const messages = [{ role: "user", content: [{ type: "document", source }] }];
  const counts = [
    [path, { model, input: "Hi.", conversation: "conv_1" }, "conversation"],
    [
      "/chat/v1/messages/count_tokens",
      { model, messages },
      "messages[0].content[0].source.file_id",
    ],
  ] as const;
  for (const [path, body, field] of counts) {
    const answer = await service().post(path, body);
    const { error } = await answer.json();
    assert.deepEqual([answer.status, error.code], [400, "unsupported_parameter"]);
    assert.ok(error.message.startsWith(`${field}: `), error.message);
  }
});

Deno.test("a result alone, whose media Gemini CLI has counted, is counted as the text and media in it", async () => {
  const word = service().script((exchange) => exchange.answer(200, counted));
  const [png, pdf] = [
    { mimeType: "image/png", data: "iVBORw0KGgo=" },
    { mimeType: "application/pdf", data: "JVBERi0=" },
  ];
  const answer = await service().post(`/chat/v1beta/models/${model}:countTokens`, {
    contents: [{
      role: "user",
      parts: [
        { functionResponse: { id: "c_1", name: "look", response: { output: word } } },
        { functionResponse: { name: "see", response: {}, parts: [{ inlineData: png }] } },
        { inlineData: pdf },
      ],
    }],
  });
  assert.deepEqual(await answer.json(), { totalTokens: 42 });
  assert.equal(answer.headers.get("x-token-count"), null);
  const [said] = lastSent().body.input as Json[];
  assert.deepEqual([said!.role, (said!.content as Json[]).map(({ type }) => type)], [
    "user",
    ["input_text", "input_image", "input_file"],
  ]);
  assert.match(String((said!.content as Json[])[0]!.text), new RegExp(word));
});

Deno.test("a result after the first content still needs its call, as in the call that is counted", async () => {
  const result = { functionResponse: { id: "c_1", name: "look", response: { output: "x" } } };
  const answer = await service().post(`/chat/v1beta/models/${model}:countTokens`, {
    contents: [{ parts: [{ text: "Hi." }] }, { parts: [result] }],
  });
  assert.equal(answer.status, 400);
  assert.match((await answer.json()).error.message, /^contents\[1\]\.parts\[0\]/);
});

const details = [{ modality: "TEXT", tokenCount: 42 }];
/** By the caller's dialect: what the vendor of that dialect answers, and our own answer. */
const vendorCounts = {
  responses: [{ ...counted, input_tokens_details: { cached_tokens: 2 } }, counted],
  messages: [
    { input_tokens: 42, context_management: { original_input_tokens: 70 } },
    { input_tokens: 42 },
  ],
  generate: [{ totalTokens: 42, promptTokensDetails: details }, { totalTokens: 42 }],
} as const;

for (const [dialect, [vendorsOwn, ours]] of Object.entries(vendorCounts)) {
  const dialectName = dialect as keyof typeof vendorCounts;
  Deno.test(`${dialect}: a count comes back as the vendor wrote it, unless it was translated`, async () => {
    const text = JSON.stringify(vendorsOwn, null, 1);
    const own = service().script((exchange) => exchange.answer(200, text));
    const same = await countOf(dialectName, scriptedLabel(dialectName), own);
    assert.deepEqual([await same.text(), same.headers.get("x-token-count")], [text, null]);
    const other = dialectName === "generate" ? "messages" : "generate";
    const word = service().script((exchange) => exchange.answer(200, vendorCounts[other][0]));
    const translated = await countOf(dialectName, scriptedLabel(other), word);
    assert.deepEqual(await translated.json(), ours);
  });
}

function countOf(dialect: keyof typeof vendorCounts, label: string, word: string) {
  const model = `${label}/${scriptedModel}`;
  if (dialect === "responses") return service().post(path, { model, input: word });
  const turn = { role: "user", content: word };
  return dialect === "messages"
    ? service().post("/chat/v1/messages/count_tokens", { model, messages: [turn] })
    : service().post(`/chat/v1beta/models/${model}:countTokens`, {
      contents: [{ parts: [{ text: word }] }],
    });
}
