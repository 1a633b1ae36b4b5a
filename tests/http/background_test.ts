import assert from "@std/assert";
import OpenAI, { APIError, BadRequestError, NotFoundError, RateLimitError } from "openai";
import type { Response, ResponseIncludable } from "openai/resources/responses/responses";
import { eachService } from "../support/each_service.ts";
import type { TestService } from "../support/service.ts";
import { openai } from "../support/service_openai.ts";

const model = "vendor-b/gpt-4.1";
/** One vendor that speaks the dialect and one that doesn't, on both families. */
const ways = [
  { path: "/chat/v1", model },
  { path: "/openai/v1", model: "gpt-4.1" },
  { path: "/chat/v1", model: "vendor-c/claude-sonnet-4-6" },
  { path: "/chat/v1", model: "vendor-d/gemini-2.5-flash" },
];

/** A response as it is stored holds what its request named in `include`. */
async function refuseWhatIsNotStored(client: OpenAI["responses"], id: string): Promise<void> {
  const including = (name: ResponseIncludable) => client.retrieve(id, { include: [name] });
  const bare = await failure(() => including("message.output_text.logprobs"));
  assert.deepEqual([bare.status, bare.code, bare.param], [400, "unsupported_parameter", "include"]);
  assert.match(bare.message, /without 'message\.output_text\.logprobs'/);
  assert.equal((await including("code_interpreter_call.outputs")).id, id);
}

eachService(
  "background: queued at once, polled, answered as a foreground call",
  {},
  async (service) => {
    for (const way of ways) {
      const client = openai(service, way.path, { maxRetries: 0 }).responses;
      const ask = { model: way.model, input: "My name is Ada. [slow:300]", metadata: { at: "1" } };
      const { data: queued, response } = await client.create({ ...ask, background: true })
        .withResponse();
      const where = `${way.path} ${way.model}`;
      assert.equal(queued.status, "queued", where);
      assert.equal(queued.background, true);
      assert.deepEqual([queued.output, queued.usage, queued.metadata], [[], null, { at: "1" }]);
      const ended = await until(client, queued.id);
      assert.equal(ended.status, "completed", JSON.stringify(ended));
      assert.deepEqual([ended.id, ended.background, ended.created_at], [
        queued.id,
        true,
        queued.created_at,
      ]);
      const foreground = await client.create(ask);
      assert.deepEqual(plain(ended), plain(foreground), where);
      const transaction = response.headers.get("x-transaction-id");
      const row = await service.row(transaction);
      assert.deepEqual(
        [row.status, row.stream, row.billing_basis, row.http_status, row.dialect],
        ["completed", false, "reported", 200, "responses"],
      );
      assert.ok(Number(row.charged_usd) > 0, "it is charged");
      assert.equal(JSON.parse(JSON.stringify(row.request)).background, true, "as it was sent");
      const foregroundRow = (await service.rows()).find((one) =>
        one.transaction_id !== transaction && one.model === row.model &&
        one.endpoint === row.endpoint
      );
      assert.equal(row.charged_usd, foregroundRow?.charged_usd, "as an ordinary call is");
      const [asked] = (await client.inputItems.list(queued.id)).data;
      assert.deepEqual(asked?.type === "message" && asked.content, [
        { type: "input_text", text: ask.input },
      ]);
      // It is continued as any other.
      const next = await client.create({ ...ask, input: "And?", previous_response_id: queued.id });
      assert.equal(next.status, "completed");
      await client.delete(queued.id);
      await assert.rejects(() => client.retrieve(queued.id), NotFoundError);
    }
    await sound(service);
  },
);

eachService(
  "background: cancel ends a call, once, and what was spent is charged",
  {},
  async (service) => {
    const client = openai(service, "/chat/v1", { maxRetries: 0 }).responses;
    for (const words of ["[slow:20000]", "[long:400] [drip:50]"]) {
      const { data: queued, response } = await client
        .create({ model, input: `Talk. ${words}`, background: true }).withResponse();
      await within(async () => (await client.retrieve(queued.id)).status === "in_progress");
      // The vendor, in this process too, then says a word each 50 ms, or nothing for long.
      await within(() => Promise.resolve(service.simulators.active("vendor-b") === 1));
      await pause(500);
      const cancelled = await client.cancel(queued.id);
      assert.deepEqual([cancelled.id, cancelled.status, cancelled.output], [
        queued.id,
        "cancelled",
        [],
      ]);
      assert.deepEqual(await client.cancel(queued.id), cancelled, "a repeat says the same");
      assert.deepEqual(await client.retrieve(queued.id), { ...cancelled, output_text: "" });
      const unkept = await failure(() => client.inputItems.list(queued.id));
      assert.deepEqual([unkept.status, unkept.param], [400, "response_id"]);
      const row = await rowOf(service, response.headers.get("x-transaction-id"));
      assert.equal(row.status, "cancelled");
      assert.equal(Number(row.charged_usd) > 0, words.includes("drip"), words);
      await assert.rejects(
        () => client.create({ model, input: "And?", previous_response_id: queued.id }),
        BadRequestError,
      );
    }
    // One that has ended is answered as it is; one that is no background response is refused.
    const quick = await client.create({ model, input: "Hello.", background: true });
    const ended = await until(client, quick.id);
    assert.deepEqual({ ...await client.cancel(quick.id), output_text: ended.output_text }, ended);
    const ordinary = await client.create({ model, input: "Hello." });
    const refused = await failure(() => client.cancel(ordinary.id));
    assert.deepEqual([refused.status, refused.param], [400, "response_id"]);
    assert.equal((await failure(() => client.cancel("resp_none"))).status, 404);
    await sound(service);
  },
);

eachService("background: refusals, failures and other accounts", {}, async (service) => {
  const client = openai(service, "/chat/v1", { maxRetries: 0 }).responses;
  const failed = await client.create({ model, input: "Hi. [error:400]", background: true });
  const ended = await until(client, failed.id);
  assert.equal(ended.status, "failed");
  assert.ok(ended.error?.message, JSON.stringify(ended.error));
  const cut = await client.create({ model, input: "Hi. [long:60] [cut]", background: true });
  const truncated = await until(client, cut.id);
  assert.deepEqual([truncated.status, truncated.error?.code as string], [
    "failed",
    "upstream_stream_truncated",
  ]);
  const short = await client.create({
    ...{ model, input: "Talk. [long:400]", max_output_tokens: 16, background: true },
  });
  const incomplete = await until(client, short.id);
  assert.deepEqual([incomplete.status, incomplete.incomplete_details?.reason], [
    "incomplete",
    "max_output_tokens",
  ]);
  // The refusals of an ordinary call come at once.
  const unknown = await failure(() =>
    client.create({ model: "vendor-b/none-such", input: "Hi.", background: true })
  );
  assert.deepEqual([unknown.status, unknown.code], [404, "model_not_found"]);
  const stateless = await failure(() =>
    client.create({ model, input: "Hi.", background: true, store: false })
  );
  assert.deepEqual([stateless.status, stateless.param], [400, "store"]);
  const streamed = await failure(() => client.retrieve(short.id, { stream: true }));
  assert.deepEqual([streamed.status, streamed.code, streamed.param], [
    400,
    "unsupported_parameter",
    "stream",
  ]);
  await refuseWhatIsNotStored(client, short.id);
  // Onto one that has not ended.
  const open = await client.create({ model, input: "Hi. [slow:20000]", background: true });
  const early = await failure(() =>
    client.create({ model, input: "And?", previous_response_id: open.id })
  );
  assert.deepEqual([early.status, early.code, early.param], [
    400,
    "previous_response_unfinished",
    "previous_response_id",
  ]);
  const made = await service.admin("account", "create", "--name", "other");
  const account = String((made.json as { id: number }).id);
  const { key } = await service.createKey("--account", account);
  const other = openai({ ...service, key }, "/chat/v1", { maxRetries: 0 }).responses;
  for (
    const act of [
      () => other.retrieve(open.id),
      () => other.cancel(open.id),
      () => other.delete(open.id),
    ]
  ) {
    assert.equal((await failure(act)).status, 404);
  }
  // Forgotten in the middle: it ends, is recorded, and nobody sees it again.
  await client.delete(open.id);
  assert.equal((await failure(() => client.retrieve(open.id))).status, 404);
  assert.equal((await failure(() => client.delete(open.id))).status, 404);
  await within(async () =>
    (await service.rows()).filter((row) => row.status === "cancelled").length === 1
  );
  await sound(service);
});

eachService(
  "background with stream is an ordinary stream that a caller's leaving does not end",
  {},
  async (service) => {
    const client = openai(service, "/chat/v1", { maxRetries: 0 }).responses;
    const stream = await client.create({
      ...{ model, input: "Talk. [long:40] [drip:20]", background: true, stream: true },
    });
    let id = "";
    for await (const event of stream) {
      if (event.type !== "response.created") continue;
      id = event.response.id;
      break;
    }
    await within(() =>
      client.retrieve(id).then(({ status }) => status === "completed", () => false)
    );
  },
);

eachService(
  "background with stream: a caller who left gets that answer by the same X-Request-ID",
  {},
  async (service) => {
    const body = { model, input: "Talk. [long:40] [drip:20]", background: true, stream: true };
    const ask = () =>
      service.post("/chat/v1/responses", body, { "x-request-id": "background-stream" });
    const left = await ask();
    const reader = left.body!.getReader();
    await reader.read();
    await reader.cancel();
    const again = await ask();
    assert.equal(again.headers.get("x-idempotent-replay"), "true");
    assert.equal(
      again.headers.get("x-transaction-id"),
      left.headers.get("x-transaction-id"),
    );
    assert.match(await again.text(), /"type":"response.completed"/);
    const rows = await service.rows();
    assert.deepEqual(rows.map(({ status }) => status), ["completed"]);
  },
);

eachService(
  "background: a repeat with the same X-Request-ID has the same response",
  {},
  async (service) => {
    const body = { model, input: "Once. [slow:500]", background: true };
    const headers = { "x-request-id": "background-once" };
    const all = await Promise.all(
      Array.from({ length: 8 }, () => service.post("/chat/v1/responses", body, headers)),
    );
    const texts = await Promise.all(all.map((one) => one.text()));
    assert.equal(new Set(texts).size, 1);
    assert.equal(new Set(all.map((one) => one.headers.get("x-transaction-id"))).size, 1);
    const { id } = JSON.parse(texts[0]!);
    const client = openai(service).responses;
    await until(client, id);
    const again = await service.post("/chat/v1/responses", body, headers);
    assert.equal(again.headers.get("x-idempotent-replay"), "true");
    assert.equal((await again.json()).id, id);
    const other = await service.post("/chat/v1/responses", { ...body, input: "Twice." }, headers);
    assert.equal(other.status, 409);
    await other.body?.cancel();
    assert.equal((await service.rows()).length, 1);
  },
);

eachService(
  "background: a record names client and trace, and a deleted response is not given again",
  {},
  async (service) => {
    const client = openai(service).responses;
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    for (const background of [true, false]) {
      const body = { model, input: "Once. [slow:300]", background };
      const headers = {
        "x-request-id": `deleted-${background}`,
        "user-agent": "my-agent/1.2.3",
        traceparent: `00-${traceId}-b7ad6b7169203331-01`,
      };
      const ask = async () => {
        const answer = await service.post("/chat/v1/responses", body, headers);
        assert.equal(answer.status, 200);
        const { id } = await answer.json();
        return { id, transaction: answer.headers.get("x-transaction-id") };
      };
      const first = await ask();
      await until(client, first.id);
      const row = await rowOf(service, first.transaction);
      assert.deepEqual([row.client, row.trace_id], ["my-agent/1.2.3", traceId]);
      assert.equal((await ask()).id, first.id);
      await client.delete(first.id);
      const second = await ask();
      assert.notEqual(second.id, first.id);
      if (!background) continue;
      // Also one that has not ended.
      await client.delete(second.id);
      assert.ok(![first.id, second.id].includes((await ask()).id));
    }
  },
);

eachService(
  "background: an account has so many unfinished, and no credit beyond what they hold",
  { BACKGROUND_CALLS_PER_ACCOUNT_MAX: "3" },
  async (service) => {
    const client = openai(service, "/chat/v1", { maxRetries: 0 }).responses;
    const open = [];
    for (let at = 0; at < 3; at++) {
      open.push(await client.create({ model, input: "Hi. [slow:20000]", background: true }));
    }
    const refused = await failure(() => client.create({ model, input: "Hi.", background: true }));
    assert.ok(refused instanceof RateLimitError, `${refused.status}`);
    assert.match(refused.message, /3 unfinished background calls/);
    assert.equal(refused.headers?.get("x-transaction-id"), null, "no call, so no record");
    const lines = service.log.map((line) => / status=\d+ (transaction)?/.exec(line)?.[0]);
    const accepted = " status=200 transaction";
    assert.deepEqual(lines, [accepted, accepted, accepted, " status=429 "]);
    const held = await service.admin("credits", "show");
    const { reserved_usd: reserved } = held.json as { reserved_usd: string };
    assert.ok(Number(reserved) > 0, "credit is held from the start");
    for (const one of open) await client.cancel(one.id);
    await within(async () => {
      const { json } = await service.admin("credits", "show");
      return Number((json as { reserved_usd: string }).reserved_usd) === 0;
    });
    const next = await client.create({ model, input: "Hi.", background: true });
    assert.equal((await until(client, next.id)).status, "completed");
    await sound(service);
  },
);

eachService(
  "background: a call that takes too long fails",
  { BACKGROUND_CALL_TIMEOUT_MS: "1000", FIRST_BYTE_TIMEOUT_MS: "300", IDLE_TIMEOUT_MS: "300" },
  async (service) => {
    const client = openai(service, "/chat/v1", { maxRetries: 0 }).responses;
    const longer = await client.create({ model, input: "Hi. [slow:600]", background: true });
    assert.equal((await until(client, longer.id)).status, "completed", "longer than others may");
    const long = await client.create({ model, input: "Hi. [slow:20000]", background: true });
    const ended = await until(client, long.id);
    assert.deepEqual([ended.status, ended.error?.code as string], ["failed", "upstream_timeout"]);
  },
);

eachService(
  "background: an erasure ends a call that is under way, and leaves nothing of it",
  {},
  async (service) => {
    const client = openai(service, "/chat/v1", { maxRetries: 0 }).responses;
    const { data: open, response } = await client.create({
      ...{ model, input: "Hi. [long:4000] [drip:50]", background: true },
      safety_identifier: "ada",
    }).withResponse();
    await within(async () => (await client.retrieve(open.id)).status === "in_progress");
    await pause(300);
    const erased = await service.post("/api/v1/data", { user_id: "ada", reason: "asked for" });
    assert.ok(erased.ok, await erased.text());
    await within(() =>
      client.retrieve(open.id).then(() => false, (thrown) => thrown.status === 404)
    );
    await within(async () => {
      const metrics = await (await service.fetch("/metrics")).text();
      return /^gateway_background_calls 0$/m.test(metrics);
    });
    const transaction = response.headers.get("x-transaction-id");
    assert.deepEqual(await service.rows({ transaction_id: transaction }), []);
  },
);

type Responses = OpenAI["responses"];

async function until(client: Responses, id: string): Promise<Response> {
  for (let look = 0; look < 3000; look++) {
    const response = await client.retrieve(id);
    if (response.status !== "queued" && response.status !== "in_progress") return response;
    await pause(20);
  }
  throw new Error("the response does not end");
}

async function within(isSo: () => Promise<boolean>): Promise<void> {
  for (let look = 0; look < 2400; look++) {
    if (await isSo()) return;
    await pause(25);
  }
  throw new Error("it does not become so");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function rowOf(service: TestService, transactionId: string | null) {
  await within(async () => (await service.rows({ transaction_id: transactionId })).length === 1);
  return await service.row(transactionId);
}

async function failure(act: () => PromiseLike<unknown>): Promise<APIError> {
  try {
    await act();
  } catch (thrown) {
    if (thrown instanceof APIError) return thrown;
    throw thrown;
  }
  throw new Error("it was not refused");
}

/** Without what differs between two calls. */
function plain(response: Response) {
  const { id: _, created_at: __, completed_at: ___, background: ____, output, ...rest } =
    response as
      & Response
      & { completed_at?: number; background?: boolean };
  const { output_text: text, ...others } = rest;
  return {
    others: { ...others, prompt_cache_key: null },
    text,
    kinds: output.map(({ type }) => type),
  };
}

/** One row for each call, and charges that are what the credit lacks. */
async function sound(service: TestService): Promise<void> {
  const rows = await service.rows();
  const ids = rows.map((row) => row.transaction_id);
  assert.equal(new Set(ids).size, ids.length);
  const charged = rows.reduce((sum, row) => sum + Number(row.charged_usd), 0);
  const { json } = await service.admin("credits", "show");
  assert.ok(Math.abs(10 - charged - Number((json as { balance_usd: string }).balance_usd)) < 1e-8);
}
