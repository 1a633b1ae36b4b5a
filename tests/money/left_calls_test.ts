/**
 * A caller who has had all of an answer and leaves before its last event is charged about what it
 * would have been: vendors report usage at the end alone, so it is an estimate.
 */
import assert from "@std/assert";
import { setTimeout as delay } from "node:timers/promises";
import { sound } from "../../demo/simulator/samples/mod.ts";
import { type FakeExchange, startFakeVendor } from "../support/fake_vendor.ts";
import { flatPrices } from "../support/money.ts";
import { loopTurns } from "../support/loop_turns.ts";
import { startTestService, type TestService } from "../support/service.ts";

const words = "word ".repeat(4000);
const tokens = 5000;
/** 1.5 MB of a picture. */
const picture = `iVBORw0KGgo${"A".repeat(1_999_989)}`;
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;

/** An answer up to its last event, and that one. */
type Parts = readonly [begin: string, end: string];

const searches = Array.from({ length: 8 }, (_, at) => ({
  ...{ type: "web_search_call", id: `ws_${at}`, status: "completed" },
  action: { type: "search", query: "q" },
}));

function searched(): Parts {
  const response = { id: "resp_1", object: "response", model: "gpt-5-mini" };
  const usage = { input_tokens: 20, output_tokens: tokens, total_tokens: tokens + 20 };
  const items = searches.map((item, at) =>
    event({ type: "response.output_item.done", output_index: at, item })
  );
  const delta = { output_index: 8, item_id: "m", content_index: 0, delta: words };
  return [
    event({ type: "response.created", response: { ...response, status: "in_progress" } }) +
    items.join("") + event({ type: "response.output_text.delta", ...delta }),
    event({
      type: "response.completed",
      response: { ...response, status: "completed", output: searches, usage },
    }),
  ];
}

/**
 * A search by Anthropic's tool. The model reads its results in a second pass, which only the last
 * event reports. As recorded, 3.6 characters of sealed results are a token.
 */
function readResults(): Parts {
  const usage = { input_tokens: 2000, output_tokens: 1 };
  const message = { type: "message", role: "assistant", content: [], model: "claude-sonnet-4-6" };
  const results = Array.from({ length: 10 }, (_, at) => ({
    ...{ type: "web_search_result", url: `https://example.com/${at}`, title: "A page" },
    ...{ encrypted_content: "Eo8D".repeat(1000), page_age: null },
  }));
  const blocks = [
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: results },
    { type: "text", text: "Fine." },
  ];
  const named = (one: { type: string }) => `event: ${one.type}\n${event(one)}`;
  const searched = { server_tool_use: { web_search_requests: 1 } };
  const total = { input_tokens: 2000 + 11_100, output_tokens: 40, ...searched };
  return [
    named({ type: "message_start", message: { id: "msg_1", ...message, usage } } as never) +
    blocks.map((content_block, index) =>
      named({ type: "content_block_start", index, content_block } as never) +
      named({ type: "content_block_stop", index } as never)
    ).join(""),
    named({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: total } as never) +
    named({ type: "message_stop" }),
  ];
}

/** A picture by the image tool; its own model draws it, and is much dearer than the asked one. */
const imageTool = { type: "image_generation", model: "gpt-image-2", quality: "high" };

/** `isReported`: the vendor says how many tokens the picture took. */
function drawn(isReported: boolean): Parts {
  const response = { id: "resp_1", object: "response", model: "gpt-5-mini", tools: [imageTool] };
  const item = { type: "image_generation_call", id: "ig_1", status: "completed", result: picture };
  const usage = { input_tokens: 20, output_tokens: 10, total_tokens: 30 };
  const image_gen = { input_tokens: 20, output_tokens: 6240, total_tokens: 6260 };
  const tool_usage = isReported ? { image_gen, web_search: { num_requests: 0 } } : null;
  return [
    event({ type: "response.created", response: { ...response, status: "in_progress" } }) +
    event({ type: "response.output_item.done", output_index: 0, item }),
    event({
      type: "response.completed",
      response: { ...response, status: "completed", output: [item], usage, tool_usage },
    }),
  ];
}

/** Two turns: the second continues the first, which is long. */
function continued(turn: number): Parts {
  const response = { id: `resp_${turn}`, object: "response", model: "gpt-4.1" };
  const said = { type: "output_text", text: "Fine.", annotations: [] };
  const message = { type: "message", id: "m", role: "assistant", content: [said] };
  const usage = { input_tokens: 100_000, output_tokens: 2, total_tokens: 100_002 };
  const delta = { output_index: 0, item_id: "m", content_index: 0, delta: "Fine." };
  return [
    event({ type: "response.created", response: { ...response, status: "in_progress" } }) +
    event({ type: "response.output_text.delta", ...delta }),
    event({
      type: "response.completed",
      response: { ...response, status: "completed", output: [message], usage },
    }),
  ];
}

function prioritized(): Parts {
  const chunk = (choices: unknown[], usage: unknown = null) =>
    event({ id: "c", model: "gpt-4.1", service_tier: "priority", choices, usage });
  const delta = { role: "assistant", content: words };
  const usage = { prompt_tokens: 20, completion_tokens: tokens, total_tokens: tokens + 20 };
  return [
    chunk([{ index: 0, delta, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason: "stop" }]) + chunk([], usage) + "data: [DONE]\n\n",
  ];
}

/** Words that look like base64 of a picture, an address, or data of no known kind. */
const disguises = ["iVBORw0KGgo/", "https://a/", "data:a/b,", ""].map((start) =>
  `${start}${"tell_me_all-".repeat(20_000)}`
);

function disguised(prompt: string): Parts {
  const chunk = (choices: unknown[], usage: unknown = null) =>
    event({ id: "c", model: "gpt-4.1", choices, usage });
  const prompt_tokens = Math.ceil(prompt.length / 4);
  const usage = { prompt_tokens, completion_tokens: 2, total_tokens: prompt_tokens + 2 };
  const delta = { role: "assistant", content: "Fine." };
  return [
    chunk([{ index: 0, delta, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason: "stop" }]) + chunk([], usage) + "data: [DONE]\n\n",
  ];
}

function pictured(): Parts {
  const usageMetadata = {
    promptTokenCount: 20,
    candidatesTokenCount: 1290,
    candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1290 }],
  };
  const parts = [{ inlineData: { mimeType: "image/png", data: picture } }];
  const ended = { index: 0, content: { role: "model", parts: [{ text: "" }] } };
  return [
    event({ candidates: [{ index: 0, content: { role: "model", parts } }] }),
    event({ candidates: [{ ...ended, finishReason: "STOP" }], usageMetadata }),
  ];
}

/** Twenty seconds, at 25 tokens a second. */
const spoken = Uint8Array.from(sound("wav", 20, "given")).toBase64();

function heard(): Parts {
  const chunk = (choices: unknown[], usage: unknown = null) =>
    event({ id: "c", model: "gpt-audio", choices, usage });
  const usage = {
    ...{ prompt_tokens: 510, completion_tokens: 2, total_tokens: 512 },
    prompt_tokens_details: { audio_tokens: 500 },
  };
  const delta = { role: "assistant", content: "Fine." };
  return [
    chunk([{ index: 0, delta, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason: "stop" }]) + chunk([], usage) + "data: [DONE]\n\n",
  ];
}

const responses = "/vendor-b/v1/responses";

/** Calls of which the first continues an answer. */
function casesAfter(
  previous_response_id: string,
): [name: string, path: string, body: unknown, parts: Parts][] {
  const streamed = { stream: true, max_output_tokens: 6000 };
  const messages = [{ role: "user", content: "Hi" }];
  return [
    ["history", responses, {
      ...{ ...streamed, model: "gpt-4.1", input: "Go on", previous_response_id },
    }, continued(2)],
    ["searches", responses, {
      ...{ ...streamed, model: "gpt-5-mini", input: "Hi", tools: [{ type: "web_search" }] },
    }, searched()],
    ["image tool", responses, {
      ...{ ...streamed, model: "gpt-5-mini", input: "Hi", tools: [imageTool] },
    }, drawn(true)],
    ["results", "/vendor-c/v1/messages", {
      ...{ model: "claude-sonnet-4-6", stream: true, max_tokens: 6000, messages },
      tools: [{ type: "web_search_20250305", name: "web_search" }],
    }, readResults()],
    ["tier", "/vendor-b/v1/chat/completions", {
      ...{ model: "gpt-4.1", stream: true, max_tokens: 6000, messages, service_tier: "priority" },
    }, prioritized()],
    ...disguises.map((content): [string, string, unknown, Parts] => [
      ...["disguise", "/vendor-b/v1/chat/completions"] as const,
      { model: "gpt-4.1", stream: true, max_tokens: 100, messages: [{ role: "user", content }] },
      disguised(content),
    ]),
    [
      "picture",
      "/vendor-d/v1beta/models/gemini-2.5-flash-image:streamGenerateContent?alt=sse",
      { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
      pictured(),
    ],
    ["sound", "/vendor-b/v1/chat/completions", {
      ...{ model: "gpt-audio", stream: true, max_tokens: 100 },
      messages: [{
        role: "user",
        content: [{ type: "input_audio", input_audio: { data: spoken, format: "wav" } }],
      }],
    }, heard()],
  ];
}

/** Reads so many characters of an answer, then leaves. */
async function call(service: TestService, path: string, body: unknown, most: number) {
  const stop = new AbortController();
  const response = await service.fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: stop.signal,
  });
  let text = "";
  try {
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (text.length >= most) stop.abort();
    }
  } catch (thrown) {
    if (most === Infinity) throw thrown;
  }
  const transaction_id = response.headers.get("x-transaction-id")!;
  let rows = await service.rows({ transaction_id });
  // The service learns of it later than the caller.
  for (; rows.length === 0; rows = await service.rows({ transaction_id })) await delay(20);
  return { charged: Number(rows[0]!.charged_usd), basis: rows[0]!.billing_basis, text };
}

Deno.test("a caller that leaves at the end of an answer pays for its searches, media, tier and history", async () => {
  let answer: Parts = ["", ""];
  let isWhole = true;
  const script = async (exchange: FakeExchange) => {
    await exchange.head(200, { "content-type": "text/event-stream" }, "chunked");
    await exchange.write(answer[0]);
    if (!isWhole) return await exchange.closed;
    await exchange.write(answer[1]);
    await exchange.end();
  };
  await using vendor = await startFakeVendor(script);
  await using service = await startTestService({
    database: "any",
    env: {
      ...{ VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "k" },
      ...{ VENDOR_D_BASE_URL: `${vendor.url}/v1beta`, VENDOR_D_API_KEY: "k" },
      ...{ VENDOR_C_BASE_URL: `${vendor.url}/v1`, VENDOR_C_API_KEY: "k" },
      STARTING_CREDIT_USD: "100",
    },
  });
  const ask = (path: string, body: unknown, parts: Parts, whole: boolean) => {
    [answer, isWhole] = [parts, whole];
    return call(service, path, body, whole ? Infinity : parts[0].length);
  };
  const begun = await ask(
    responses,
    { model: "gpt-4.1", stream: true, input: "word ".repeat(80_000) },
    continued(1),
    true,
  );
  const previous_response_id = /"id":"(resp_[^"]+)"/.exec(begun.text)![1]!;
  const cases = casesAfter(previous_response_id);
  for (const [name, path, body, parts] of cases) {
    const whole = await ask(path, body, parts, true);
    const left = await ask(path, body, parts, false);
    assert.deepEqual([whole.basis, left.basis], ["reported", "estimated"], name);
    const ratio = left.charged / whole.charged;
    assert.ok(ratio > 0.9 && ratio < 1.1, `${name}: ${left.charged} of ${whole.charged} USD`);
  }
  const [, path, body] = cases.find(([name]) => name === "image tool")!;
  const unreported = await ask(path, body, drawn(false), true);
  assert.equal(unreported.basis, "estimated");
  assert.ok(unreported.charged > 0.18, `${unreported.charged} USD for a picture without tokens`);
});

Deno.test("a caller that leaves before the last of several images pays for those that came", async () => {
  const leaving = new AbortController();
  let asked = 0;
  await using vendor = await startFakeVendor(async (exchange) => {
    asked++;
    // Three of four at once hang; the fourth goes on to the others, one after the other.
    if (asked >= 4 && asked < 8) return exchange.answer(200, { data: [{ b64_json: picture }] });
    if (asked === 8) leaving.abort();
    await exchange.closed;
  });
  await using service = await startTestService({
    database: "any",
    env: { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "k" },
  });
  const body = JSON.stringify({ model: "openai/dall-e-3", prompt: "A boat", n: 8 });
  const asking = service.fetch("/imagen/v1/generate", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    signal: leaving.signal,
  });
  await assert.rejects(asking);
  let rows = await service.rows();
  for (; rows.length === 0; rows = await service.rows()) await delay(20);
  const { status, charged_usd, billing_basis } = rows[0]!;
  assert.deepEqual([status, charged_usd, billing_basis], ["cancelled", "0.160000000", "reported"]);
});

Deno.test("a caller that leaves in the middle of a whole media answer pays as if the vendor had cut it", async () => {
  let leaving = new AbortController();
  let isCut = true;
  let begin = '{"data":[{"';
  await using vendor = await startFakeVendor(async (exchange) => {
    await exchange.head(200, { "content-type": "application/json" }, { length: 1_000_000 });
    if (begin !== "") await exchange.write(begin);
    if (isCut) return exchange.cut();
    // Until the service has read it.
    await loopTurns();
    leaving.abort();
    await exchange.closed;
  });
  await using service = await startTestService({
    database: "any",
    env: {
      ...{ VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "k" },
      PRICES_FILE: await flatPrices("0.01", "openai/dall-e-3", { per_image: "0.04" }),
    },
  });
  const charged = async (path: string, fields: unknown, cut: boolean) => {
    [isCut, leaving] = [cut, new AbortController()];
    const before = (await service.rows()).map(({ transaction_id }) => transaction_id);
    const asking = service.fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(fields),
      signal: leaving.signal,
    });
    if (cut) assert.equal((await asking).ok, false);
    else await assert.rejects(asking);
    for (;; await delay(20)) {
      const rows = await service.rows();
      const row = rows.find(({ transaction_id }) => !before.includes(transaction_id));
      if (row) return [row.charged_usd, row.billing_basis];
    }
  };
  const prompt = "A boat";
  const cases: [string, { model: string } & Record<string, unknown>][] = [
    ["/imagen/v1/generate", { model: "openai/gpt-image-2", prompt }],
    ["/imagen/v1/generate", { model: "openai/dall-e-3", prompt }],
    ["/vendor-b/v1/images/generations", { model: "gpt-image-2", prompt }],
    ["/tts/v1/generate", { model: "openai/tts-1", text: words.slice(0, 4000) }],
    ["/vendor-b/v1/embeddings", { model: "text-embedding-3-small", input: words }],
  ];
  for (const [path, fields] of cases) {
    const cut = await charged(path, fields, true);
    const left = await charged(path, fields, false);
    assert.notEqual(Number(cut[0]), 0, `${path} ${fields.model}`);
    assert.deepEqual(left, cut, `${path} ${fields.model}`);
  }
  // Four of eight pictures had been asked for, by a request each.
  const [path, fields] = cases[1]!;
  assert.deepEqual(await charged(path, { ...fields, n: 8 }, false), ["0.200000000", "estimated"]);
  begin = "";
  assert.deepEqual(await charged(path, fields, false), ["0.000000000", "none"], "before a byte");
});

Deno.test("a picture's usage that came before its answer broke off is what is paid, and no error of ours", async () => {
  let leaving = new AbortController();
  let isCut = true;
  let begin = "";
  await using vendor = await startFakeVendor(async (exchange) => {
    await exchange.head(200, { "content-type": "application/json" }, "chunked");
    await exchange.write(begin);
    if (isCut) return exchange.cut();
    // Until the service has read it.
    await loopTurns();
    leaving.abort();
    await exchange.closed;
  });
  await using service = await startTestService({
    database: "any",
    env: { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "k" },
  });
  const usage = { input_tokens: 10, output_tokens: 272, total_tokens: 282 };
  const whole = JSON.stringify({ created: 7, data: [{ b64_json: picture }], size: "auto", usage });
  const half = whole.slice(0, whole.indexOf(',"total_tokens'));
  const drawn = async (path: string, fields: unknown, text: string, cut: boolean) => {
    [begin, isCut, leaving] = [text, cut, new AbortController()];
    const before = (await service.rows()).map(({ transaction_id }) => transaction_id);
    const asking = service.fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(fields),
      signal: leaving.signal,
    });
    if (cut) assert.equal((await asking).status, 502);
    else await assert.rejects(asking);
    for (;; await delay(20)) {
      const rows = await service.rows();
      const row = rows.find(({ transaction_id }) => !before.includes(transaction_id));
      if (row) return [row.billing_basis, row.input_tokens, row.output_tokens];
    }
  };
  const prompt = "A boat";
  const quality = "high";
  for (
    const [path, model] of [
      ["/imagen/v1/generate", "openai/gpt-image-2"],
      ["/vendor-b/v1/images/generations", "gpt-image-2"],
    ] as const
  ) {
    const ask = { model, prompt, quality, size: "1024x1024" };
    for (const cut of [true, false]) {
      // The first lacks the end of its framing alone.
      for (const text of cut ? [whole, whole.slice(0, -1)] : [whole.slice(0, -1)]) {
        assert.deepEqual(await drawn(path, ask, text, cut), ["reported", 10, 272], path);
      }
      // Half of a usage is none.
      const [basis, , output] = await drawn(path, ask, half, cut);
      assert.deepEqual([basis, Number(output) > 4000], ["estimated", true], path);
    }
  }
  assert.deepEqual(service.log.filter((line) => line.includes("settling a call failed")), []);
});

Deno.test("a cut picture costs what one without usage does, and not its model's longest answer", async () => {
  const parts = [{ inlineData: { mimeType: "image/png", data: "aGk=" } }];
  const text = JSON.stringify({ candidates: [{ content: { parts } }] });
  let isCut = false;
  await using vendor = await startFakeVendor(async (exchange) => {
    await exchange.head(200, { "content-type": "application/json" }, "chunked");
    await exchange.write(text.slice(0, isCut ? -1 : undefined));
    if (isCut) exchange.cut();
    else await exchange.end();
  });
  await using service = await startTestService({
    database: "any",
    env: { VENDOR_D_BASE_URL: `${vendor.url}/v1beta`, VENDOR_D_API_KEY: "k" },
  });
  const outputs: unknown[] = [];
  for (isCut of [false, true]) {
    const ask = { model: "google/gemini-2.5-flash-image", prompt: "A boat" };
    const answer = await service.post("/imagen/v1/generate", ask);
    await answer.body?.cancel();
    const row = await service.row(answer.headers.get("x-transaction-id"));
    outputs.push([row.billing_basis, row.output_tokens]);
  }
  assert.deepEqual(outputs[1], outputs[0]);
});

Deno.test("of several pictures those whose answers broke off are paid too", async () => {
  let leaving = new AbortController();
  let asked = 0;
  /** What becomes of the requests, one after the other. */
  let fates: readonly ("drawn" | "cut" | "failed" | "hangs")[] = [];
  await using vendor = await startFakeVendor(async (exchange) => {
    const mine = asked++;
    const fate = fates[mine];
    if (fate === "drawn") return exchange.answer(200, { data: [{ b64_json: picture }] });
    if (fate === "failed") return exchange.answer(400, { error: { message: "No such boat" } });
    await exchange.head(200, { "content-type": "application/json" }, { length: 1_000_000 });
    await exchange.write('{"data":[{"');
    if (fate === "cut") return exchange.cut();
    if (mine === fates.length - 1) {
      // Until the service has read it.
      await loopTurns();
      leaving.abort();
    }
    await exchange.closed;
  });
  await using service = await startTestService({
    database: "any",
    env: { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "k" },
  });
  const cases: readonly [typeof fates, charged: string, basis: string][] = [
    [["drawn", "drawn"], "0.080000000", "reported"],
    [["drawn", "cut"], "0.080000000", "estimated"],
    [["cut", "drawn", "failed"], "0.080000000", "estimated"],
    [["failed", "cut", "failed"], "0.040000000", "estimated"],
    [["failed", "failed"], "0.000000000", "none"],
    [["drawn", "cut", "hangs"], "0.120000000", "estimated"],
  ];
  for (const [these, charged, basis] of cases) {
    [fates, asked, leaving] = [these, 0, new AbortController()];
    const before = (await service.rows()).map(({ transaction_id }) => transaction_id);
    const body = JSON.stringify({ model: "openai/dall-e-3", prompt: "A boat", n: these.length });
    const answer = await service.fetch("/imagen/v1/generate", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: leaving.signal,
    }).catch(() => undefined);
    if (answer?.ok) {
      // The caller gets the cost of the call.
      assert.equal((await answer.json()).cost_usd, charged, these.join());
    } else await answer?.body?.cancel();
    let row: Awaited<ReturnType<typeof service.rows>>[number] | undefined;
    while (!row) {
      await delay(20);
      row = (await service.rows()).find((one) => !before.includes(one.transaction_id));
    }
    assert.deepEqual([row.charged_usd, row.billing_basis], [charged, basis], these.join());
  }
});

Deno.test("a further batch of embeddings that breaks off is paid beside the first", async () => {
  let asked = 0;
  let cutAfter = 0;
  await using vendor = await startFakeVendor(async (exchange) => {
    const embeddings = Array.from({ length: 100 }, () => ({ values: [0.1, 0.2] }));
    const text = JSON.stringify({ embeddings, usageMetadata: { promptTokenCount: 250 } });
    await exchange.head(200, { "content-type": "application/json" }, "chunked");
    if (asked++ % 2 === 0) {
      await exchange.write(text);
      return exchange.end();
    }
    if (cutAfter > 0) await exchange.write(text.slice(0, cutAfter));
    exchange.cut();
  });
  await using service = await startTestService({
    database: "any",
    env: {
      ...{ VENDOR_D_BASE_URL: `${vendor.url}/v1beta`, VENDOR_D_API_KEY: "k" },
      STARTING_CREDIT_USD: "6",
      PRICES_FILE: await flatPrices("0.25", "google/gemini-embedding-2"),
    },
  });
  const ask = async () => {
    const answer = await service.post("/chat/v1/embeddings", {
      model: "google/gemini-embedding-2",
      input: Array.from({ length: 200 }, () => "Hello you"),
    });
    assert.equal(answer.status, 502);
    await answer.body?.cancel();
    const row = await service.row(answer.headers.get("x-transaction-id"));
    return [row.input_tokens, row.billing_basis, Number(row.charged_usd)];
  };
  assert.deepEqual(await ask(), [250, "reported", 0.25], "before a byte");
  cutAfter = 1000;
  // 100 texts of nine characters.
  assert.deepEqual(await ask(), [550, "estimated", 0.5], "without its usage");
  cutAfter = 1e6;
  assert.deepEqual(await ask(), [500, "reported", 0.5], "with its usage");
  const many = await service.post("/chat/v1/embeddings", {
    model: "google/gemini-embedding-2",
    input: Array(2048).fill("Hello you"),
  });
  assert.match(await many.text(), /needs up to 5\.25\d* USD/, "each of 21 batches is held");
});

Deno.test("a transcript that breaks off or falls silent is paid for its sound, by the token too", async () => {
  let isCut = true;
  await using vendor = await startFakeVendor(async (exchange) => {
    await exchange.head(200, { "content-type": "application/json" }, "chunked");
    await exchange.write('{"text":"Good mor');
    if (isCut) exchange.cut();
    else await exchange.closed;
  });
  await using service = await startTestService({
    database: "any",
    env: {
      ...{ VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "k" },
      IDLE_TIMEOUT_MS: "1000",
    },
  });
  const wav = new File([Uint8Array.from(sound("wav", 20, "given"))], "a.wav");
  for (const model of ["gpt-4o-transcribe", "whisper-1"]) {
    for (const [cut, status] of [[true, 502], [false, 504]] as const) {
      isCut = cut;
      const body = new FormData();
      body.append("model", model);
      body.append("file", wav);
      const path = "/vendor-b/v1/audio/transcriptions";
      const answer = await service.fetch(path, { method: "POST", body });
      assert.equal(answer.status, status);
      await answer.body?.cancel();
      const row = await service.row(answer.headers.get("x-transaction-id"));
      assert.equal(row.billing_basis, "estimated");
      // 20 seconds of sound as 200 tokens, or a third of a minute.
      const least = model === "whisper-1" ? 0.002 : 200 * 6 / 1e6;
      const charged = Number(row.charged_usd);
      assert.ok(charged >= least && charged < 3 * least, `${model}: ${charged} USD`);
    }
  }
});
