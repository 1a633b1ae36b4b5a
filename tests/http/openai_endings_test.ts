import assert from "@std/assert";
import OpenAI, {
  APIConnectionError,
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from "openai";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { isQuietMachine } from "../support/quiet.ts";
import { postRaw } from "../support/service_raw.ts";
import { chatFamilies, openai } from "../support/service_openai.ts";

/** vendor-a is scripted by the test; the others are simulated. */
const service = shared(async () => {
  const vendor = await startFakeVendor();
  const started = await startSimulatedService({
    VENDOR_A_BASE_URL: `${vendor.url}/v1`,
    VENDOR_A_API_KEY: "hf-of-a-test",
  });
  const stop = async () => {
    await started.stop();
    await vendor.close();
  };
  return { ...started, vendor, stop };
});

/** On a busy machine; still far from the end of answers that nobody aborts. */
const busyMs = 5_000;

const say = (content: string) => [{ role: "user" as const, content }];

for (const { label, model } of chatFamilies.filter((one) => one.label !== "vendor-a")) {
  Deno.test(`openai library: leaving a stream of ${label} aborts the vendor's call within 100 ms`, async () => {
    const { simulators, rows } = service();
    const abortedBefore = simulators.aborted(label);
    const controller = new AbortController();
    const { data: stream, response } = await openai(service()).chat.completions.create({
      model: `${label}/${model}`,
      messages: say("[long:5000] [drip:5] Talk without end."),
      stream: true,
    }, { signal: controller.signal }).withResponse();
    let text = "";
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (text.length > 200) break;
    }
    const wasQuiet = isQuietMachine();
    controller.abort();
    const leftMs = performance.now();
    await until(() => simulators.aborted(label) > abortedBefore);
    const tookMs = performance.now() - leftMs;
    assert.ok(tookMs < (wasQuiet ? 100 : busyMs), `the vendor saw the abort after ${tookMs} ms`);
    assert.equal(simulators.active(label), 0);
    const transaction = response.headers.get("x-transaction-id");
    const [row, ...more] = await rows({ transaction_id: transaction });
    assert.equal(more.length, 0);
    assert.equal(row!.status, "cancelled");
    assert.equal(row!.error_code, null);
    assert.equal(row!.finish_reason, null);
    assert.equal(row!.billing_basis, "estimated");
    assert.ok(Number(row!.input_tokens) > 0 && Number(row!.output_tokens) > 0);
    assert.match(String(row!.cost_usd), /[1-9]/);
    const kept = row!.response as { choices: { message: { content: string } }[] };
    // We may have taken a little more from the vendor than the caller took from us.
    assert.ok(kept.choices[0]!.message.content.startsWith(text));
  });
}

Deno.test("leaving before an answer began aborts the vendor's call, and is a row, not a failure", async () => {
  const { simulators, rows, log, baseUrl, key } = service();
  const abortedBefore = simulators.aborted("vendor-b");
  const user = crypto.randomUUID();
  for (const stream of [false, true]) {
    const messages = say("[slow:30000] Hello?");
    const call = await postRaw(
      baseUrl,
      "/openai/v1/chat/completions",
      { authorization: `Bearer ${key}` },
      JSON.stringify({ model: "gpt-4.1", messages, user, stream }),
    );
    await until(() => simulators.active("vendor-b") === 1);
    const wasQuiet = isQuietMachine();
    call.leave();
    const leftMs = performance.now();
    await until(() => simulators.active("vendor-b") === 0);
    const tookMs = performance.now() - leftMs;
    assert.ok(tookMs < (wasQuiet ? 100 : busyMs), `the vendor saw the abort after ${tookMs} ms`);
  }
  assert.equal(simulators.aborted("vendor-b"), abortedBefore + 2);
  await until(async () => (await rows({ user_id: user })).length === 2);
  const stored = await rows({ user_id: user });
  assert.deepEqual(
    stored.map(({ status, http_status, stream, billing_basis, cost_usd, response }) => ({
      status,
      http_status,
      stream,
      billing_basis,
      cost_usd,
      response,
    })),
    [false, true].map((stream) => ({
      status: "cancelled",
      http_status: null,
      stream,
      billing_basis: "none",
      cost_usd: "0.000000000",
      response: null,
    })),
  );
  const lines = log.filter((line) => line.includes(" error "));
  assert.deepEqual(lines, [], "nobody's failure is no error in the log");
});

Deno.test("openai library: with on-disconnect drain the answer is read to its end and billed whole", async () => {
  const { simulators, createKey, rows } = service();
  const { key } = await createKey("--on-disconnect", "drain");
  const user = crypto.randomUUID();
  const { data: stream } = await openai({ ...service(), key }).chat.completions.create({
    model: "xai/grok-4.3",
    messages: say("[long:60] [drip:5] Talk."),
    user,
    stream: true,
  }).withResponse();
  for await (const _ of stream) break;
  await until(() => simulators.active("vendor-g") === 0);
  await until(async () => (await rows({ user_id: user })).length === 1);
  const [row] = await rows({ user_id: user });
  assert.equal(row!.status, "cancelled");
  assert.equal(row!.billing_basis, "reported");
  assert.equal(row!.finish_reason, "stop");
});

type ErrorClass = abstract new (...given: never[]) => Error;

/** What makes the library throw which of its classes. */
const failures: readonly {
  name: string;
  key?: string;
  path?: string;
  model?: string;
  prompt?: string;
  error: ErrorClass;
  status: number;
  type: string;
  code: string;
}[] = [
  {
    name: "AuthenticationError for a wrong key",
    key: "dmt_wrong",
    error: AuthenticationError,
    status: 401,
    type: "authentication_error",
    code: "invalid_api_key",
  },
  {
    name: "NotFoundError for an unknown model",
    model: "vendor-b/no-such-model",
    error: NotFoundError,
    status: 404,
    type: "not_found_error",
    code: "model_not_found",
  },
  {
    name: "NotFoundError for an unknown path",
    path: "/no/such/path",
    error: NotFoundError,
    status: 404,
    type: "not_found_error",
    code: "endpoint_not_found",
  },
  {
    name: "BadRequestError for what the vendor refuses",
    prompt: "[error:400] hello",
    error: BadRequestError,
    status: 400,
    type: "invalid_request_error",
    code: "invalid_request",
  },
  {
    name: "PermissionDeniedError for what the vendor forbids",
    prompt: "[error:403] hello",
    error: PermissionDeniedError,
    status: 403,
    type: "permission_error",
    code: "upstream_forbidden",
  },
  {
    name: "RateLimitError for the vendor's limit",
    prompt: "[error:429] hello",
    error: RateLimitError,
    status: 429,
    type: "rate_limit_error",
    code: "upstream_rate_limited",
  },
  {
    name: "InternalServerError for a vendor's failure",
    prompt: "[error:500] hello",
    error: InternalServerError,
    status: 502,
    type: "upstream_error",
    code: "upstream_error",
  },
];

for (const failure of failures) {
  // What we retry takes a second or two: once is enough.
  for (const stream of [429, 502].includes(failure.status) ? [true] : [false, true]) {
    Deno.test(`openai library: ${failure.name}${stream ? ", streamed" : ""}`, async () => {
      const at = { ...service(), ...(failure.key ? { key: failure.key } : {}) };
      const client = openai(at, failure.path, { maxRetries: 0 });
      const thrown = await client.chat.completions.create({
        model: failure.model ?? "vendor-b/gpt-4.1",
        messages: say(failure.prompt ?? "hello"),
        stream,
      }).then(() => undefined, (reason: unknown) => reason);
      assert.ok(thrown instanceof failure.error, String(thrown));
      if (!(thrown instanceof APIError)) throw new Error(`${thrown} is no error of the API`);
      const { status, type, code, requestID } = thrown;
      assert.deepEqual({ status, type, code }, {
        status: failure.status,
        type: failure.type,
        code: failure.code,
      });
      assert.ok(requestID, "the library finds the request's id");
    });
  }
}

Deno.test("openai library: a 429 with Retry-After is retried by the library after that time", async () => {
  const { vendor } = service();
  const client = openai(service(), "/vendor-a/v1", { maxRetries: 1 });
  const started = performance.now();
  const calling = client.chat.completions.create({
    model: "deepseek-ai/DeepSeek-V4-Flash",
    messages: say("hello"),
  });
  // The price list is read beside; it doesn't matter here.
  const first = await nextCall(vendor);
  await first.answer(429, { error: { message: "slow down" } }, { "retry-after": "3" });
  const second = await nextCall(vendor);
  assert.ok(performance.now() - started > 2900, "not before its time");
  await second.answer(200, {
    id: "x",
    object: "chat.completion",
    created: 1,
    model: "deepseek-ai/DeepSeek-V4-Flash",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });
  assert.equal((await calling).choices[0]!.message.content, "Hi.");
});

Deno.test("openai library: a cut stream throws, and is never taken for a complete answer", async () => {
  const client = openai(service(), "/openai/v1", { maxRetries: 0 });
  for (const word of ["[cut]", "[cut:clean]", "[midstream-error]"]) {
    const stream = await client.chat.completions
      .create({ model: "gpt-4.1", messages: say(`${word} Tell me more.`), stream: true });
    let finish: string | null = null;
    const thrown = await (async () => {
      for await (const chunk of stream) finish = chunk.choices[0]?.finish_reason ?? finish;
    })().then(() => undefined, (reason: unknown) => reason);
    assert.ok(thrown instanceof APIError && !(thrown instanceof APIConnectionError), word);
    assert.equal(finish, null, word);
  }
});

Deno.test("openai library: a conversation goes on after a stream that broke off amid its answer", async () => {
  const { responses } = openai(service());
  const body = {
    model: "openai/gpt-5-mini",
    reasoning: { effort: "low" as const },
    include: ["reasoning.encrypted_content" as const],
  };
  type Item = OpenAI.Responses.ResponseInputItem;
  const input: Item[] = [{ role: "user", content: "[midstream-error] Hi" }];
  // As Codex does: what was complete is in the next request, and no message follows the reasoning.
  await assert.rejects(async () => {
    for await (const event of await responses.create({ ...body, input, stream: true })) {
      if (event.type === "response.output_item.done") input.push(event.item as Item);
    }
  }, APIError);
  assert.equal((input.at(-1) as { type?: string }).type, "reasoning");
  input.push({ role: "user", content: "Go on." });
  const { status } = await responses.create({ ...body, input });
  assert.equal(status, "completed");
  const { attempts } = (await service().rows()).at(-1)!;
  assert.equal((attempts as unknown[] | null)?.length, 2, "the first was refused");
});

async function nextCall(vendor: ReturnType<typeof service>["vendor"]) {
  for (;;) {
    const exchange = await vendor.next();
    if (exchange.request.method === "POST") return exchange;
    await exchange.answer(200, { object: "list", data: [] });
  }
}

/** Polls without a pause between: what is measured must not wait for a timer. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!await holds()) {
    if (performance.now() > deadline) throw new Error(`Waited in vain for ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
