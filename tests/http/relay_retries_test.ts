import assert from "@std/assert";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { shared, startTestService } from "../support/service.ts";
import { startScriptedService, streamEvents, wholeAnswer } from "../support/service_scripted.ts";

const service = shared(() => startScriptedService());

Deno.test("what passes by itself is not seen: a try that fails is repeated", async () => {
  for (const stream of [false, true]) {
    const { response, tries } = await service().call(
      (exchange, attempt) =>
        attempt === 1
          ? exchange.answer(503, "away", { "retry-after": "0" })
          : stream
          ? exchange.stream(streamEvents)
          : exchange.answer(200, wholeAnswer),
      { stream },
    );
    assert.equal(response.status, 200);
    await response.body?.cancel();
    assert.equal(tries.length, 2);
    assert.equal(tries[0]!.body, tries[1]!.body);
  }
});

Deno.test("a server that doesn't know stream_options is asked without, and its tokens are counted", async () => {
  const plain = streamEvents.filter((one) => !one.includes("usage"));
  for (const include of [false, true]) {
    const { response, tries } = await service().call(
      (exchange) =>
        exchange.request.body.includes("stream_options")
          ? exchange.answer(400, { error: { message: "Unknown field: stream_options" } })
          : exchange.stream(plain),
      { stream: true },
    );
    assert.equal(response.status, 200, String(include));
    assert.equal(await response.text(), plain.join(""));
    assert.equal(tries.length, 2);
    const row = await service().row(response.headers.get("x-transaction-id"));
    const { status, billing_basis, finish_reason, usage_raw } = row;
    assert.deepEqual({ status, billing_basis, finish_reason, usage_raw }, {
      status: "completed",
      billing_basis: "estimated",
      finish_reason: "stop",
      usage_raw: null,
    });
    assert.ok(Number(row.input_tokens) > 0 && Number(row.output_tokens) > 0);
    assert.match(String(row.cost_usd), /[1-9]/);
  }
});

Deno.test("a server that refuses system messages in place is asked with their texts in front", async () => {
  const bodies: Record<string, unknown>[] = [];
  await using vendor = await startFakeVendor((exchange) => {
    const body = JSON.parse(exchange.request.body);
    bodies.push(body);
    const message = "messages.1: role 'system' is not supported on this model";
    return body.messages.length > 1
      ? exchange.answer(400, { type: "error", error: { type: "invalid_request_error", message } })
      : exchange.answer(200, {
        ...{ id: "msg_1", type: "message", role: "assistant", model: body.model },
        content: [{ type: "text", text: "Done." }],
        stop_reason: "end_turn",
        usage: { input_tokens: 10, output_tokens: 5 },
      });
  });
  await using behind = await startTestService({
    env: { VENDOR_C_BASE_URL: vendor.url, VENDOR_C_API_KEY: "sk-ant-0123456789abcdef" },
  });
  const response = await behind.fetch("/chat/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "vendor-c/claude-opus-5",
      messages: [{ role: "user", content: "Go" }, { role: "developer", content: "Be brief." }],
    }),
  });
  assert.equal(response.status, 200);
  assert.equal((await response.json()).choices[0].message.content, "Done.");
  const text = { type: "text", text: "Be brief." };
  assert.deepEqual(bodies.map(({ system }) => system), [undefined, [text]]);
});

Deno.test("what a vendor refuses is not repeated", async () => {
  for (const status of [400, 401, 403, 404, 409, 413, 422, 501]) {
    const { response, tries } = await service().call((exchange) => exchange.answer(status, "no"));
    await response.text();
    assert.deepEqual([status, tries.length], [status, 1]);
  }
});

Deno.test("a kept connection that the vendor closes is replaced, and nobody sees it", async () => {
  const { response: first } = await service().call((exchange) => exchange.answer(200, wholeAnswer));
  await first.text();
  // A connection rests for 10 ms before it carries the next call.
  await new Promise((resolve) => setTimeout(resolve, 50));
  const { response, tries } = await service().call((exchange, attempt) =>
    attempt === 1 ? exchange.cut() : exchange.answer(200, wholeAnswer)
  );
  assert.equal(response.status, 200, await response.text());
  assert.equal(tries.length, 2, "once on the kept connection, once on a new one");
});
