import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { shared } from "../support/service.ts";
import { dialectNames, rawRequest } from "./raw_calls.ts";
import { scriptedLabel, scriptedModel, startScriptedVendors } from "./scripted_vendors.ts";
import { vendorWords } from "./vendor_words.ts";
import { type Json, streamValues } from "./wire.ts";

const service = shared(() => startScriptedVendors());

/** What a client of each dialect takes for the end; many leave without waiting for more. */
const endings: Readonly<Record<DialectName, RegExp>> = {
  chat: /data: \[DONE\]\n\n$/,
  responses: /event: response\.completed\ndata: .*\n\n$/,
  messages: /event: message_stop\ndata: .*\n\n$/,
  generate: /"finishReason":"STOP".*\r\n\r\n$/,
};

for (const dialect of dialectNames) {
  Deno.test(`leaving at the end of a ${dialect} stream cancels nothing`, async () => {
    const vendorsEnd = Promise.withResolvers<void>();
    const answer = await begin(dialect, vendorsEnd.promise);
    const seen = await readUntil(answer, endings[dialect]);
    const row = await untilRow(answer.headers.get("x-transaction-id"));
    vendorsEnd.resolve();
    assert.deepEqual(
      [row.status, row.finish_reason, row.input_tokens, row.output_tokens, row.billing_basis],
      ["completed", "stop", 10, 5, "reported"],
    );
    const words = [...vendorWords[dialect].begin, ...vendorWords[dialect].end].join("");
    const asked = `${scriptedLabel(dialect)}/${scriptedModel}`;
    assert.equal(
      seen,
      dialect === "messages" ? words.replace(/"model":"[^"]*"/, `"model":"${asked}"`) : words,
    );
  });

  Deno.test(`leaving before the end of a ${dialect} stream cancels it`, async () => {
    const vendorsEnd = Promise.withResolvers<void>();
    const answer = await begin(dialect, vendorsEnd.promise, vendorWords[dialect].begin);
    await readUntil(answer, /I am/);
    const row = await untilRow(answer.headers.get("x-transaction-id"));
    vendorsEnd.resolve();
    assert.deepEqual([row.status, row.finish_reason], ["cancelled", null]);
  });
}

/** The first event of a stream, before any text, and the charge at 2 and 8 USD per million tokens. */
const firstEvents: Readonly<Record<DialectName, [event: string, charged: string]>> = {
  chat: [vendorWords.chat.begin[0]!, "0.000000000"],
  responses: [vendorWords.responses.begin[0]!, "0.000000000"],
  messages: [vendorWords.messages.begin[0]!, "0.000028000"],
  generate: [
    `data: ${JSON.stringify({ usageMetadata: { promptTokenCount: 10 } })}\r\n\r\n`,
    "0.000020000",
  ],
};

for (const dialect of dialectNames) {
  const [first, charged] = firstEvents[dialect];
  Deno.test(`who leaves before the text of a ${dialect} stream pays what is reported by then`, async () => {
    const vendorsEnd = Promise.withResolvers<void>();
    const answer = await begin(dialect, vendorsEnd.promise, [first]);
    await answer.body!.cancel();
    const row = await untilRow(answer.headers.get("x-transaction-id"));
    vendorsEnd.resolve();
    const basis = Number(charged) > 0 ? "estimated" : "none";
    assert.deepEqual(
      [row.status, row.billing_basis, row.charged_usd],
      ["cancelled", basis, charged],
    );
  });
}

Deno.test("a response can be continued at its terminal event, before the vendor hangs up", async () => {
  const vendorsEnd = Promise.withResolvers<void>();
  const answer = await begin("responses", vendorsEnd.promise);
  let text = "";
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  while (!endings.responses.test(text)) text += (await reader.read()).value ?? "";
  const id = String((streamValues(text).at(-1)!.response as Json).id);
  const kept = await service().fetch(`/chat/v1/responses/${id}`);
  assert.equal(kept.status, 200);
  assert.deepEqual(await kept.json(), vendorWords.responses.whole);
  const next = service().script((exchange) => exchange.answer(200, vendorWords.responses.whole));
  const { path, body } = rawRequest("responses", {
    model: `${scriptedLabel("responses")}/${scriptedModel}`,
    prompt: `Go on. ${next}`,
    stream: false,
    more: { previous_response_id: id },
  });
  const continued = await service().post(path, body);
  assert.equal(continued.status, 200, await continued.text());
  vendorsEnd.resolve();
  assert.equal((await reader.read()).done, true);
});

/** A call whose vendor has sent `pieces` of its stream, or all, but waits before it hangs up. */
async function begin(
  dialect: DialectName,
  vendorsEnd: Promise<void>,
  pieces: readonly string[] = [...vendorWords[dialect].begin, ...vendorWords[dialect].end],
): Promise<Response> {
  const script = service().script(async (exchange) => {
    await exchange.head(200, { "content-type": "text/event-stream" });
    for (const piece of pieces) await exchange.write(piece);
    await vendorsEnd;
    await exchange.end();
  });
  const { path, body } = rawRequest(dialect, {
    model: `${scriptedLabel(dialect)}/${scriptedModel}`,
    prompt: `How are you? ${script}`,
    stream: true,
    more: dialect === "chat" ? { stream_options: { include_usage: true } } : {},
  });
  return await service().post(path, body);
}

/** Reads up to what matches, and leaves. */
async function readUntil(answer: Response, wanted: RegExp): Promise<string> {
  let text = "";
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (wanted.test(text)) return text;
  }
  throw new Error(`The stream never had ${wanted}: ${text}`);
}

/** The row comes when the service has noticed that the caller left. */
async function untilRow(transactionId: string | null) {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const [row] = await service().rows({ transaction_id: transactionId });
    if (row) return row;
    assert.ok(performance.now() < deadline, "a call that was left becomes a row");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
