import assert from "@std/assert";
import { type FakeExchange, startFakeVendor } from "../support/fake_vendor.ts";
import { within } from "../support/within.ts";
import { eachService } from "../support/each_service.ts";
import {
  assertHit,
  type CachedReply,
  cachedReply,
  hitMoney,
  moneyOf,
} from "../support/cached_calls.ts";
import type { TestService } from "../support/service.ts";
import { scriptedModel, streamEvents, wholeAnswer } from "../support/service_scripted.ts";
import { untilAdmitted } from "../support/until_admitted.ts";

const path = "/vendor-b/v1/chat/completions";
const ttl = { "x-cache-ttl": "3600" };

function bodyOf(text: string, stream = false) {
  return { model: scriptedModel, messages: [{ role: "user", content: text }], stream };
}

/** A vendor whose next answers are the scripts', and good ones after them. */
async function startVendor() {
  const scripts: ((exchange: FakeExchange) => unknown)[] = [];
  let calls = 0;
  const vendor = await startFakeVendor((exchange): unknown => {
    if (exchange.request.method === "GET") return exchange.answer(200, { data: [] });
    calls++;
    const script = scripts.shift();
    if (script) return script(exchange);
    if (!JSON.parse(exchange.request.body).stream) return exchange.answer(200, wholeAnswer);
    return exchange.stream(streamEvents, eventStream);
  });
  return {
    scripts,
    calls: () => calls,
    env: {
      VENDOR_B_BASE_URL: `${vendor.url}/v1`,
      VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789",
      // An account may have a quarter of it for what its streams are read ahead: more than 12 MB.
      BODIES_IN_FLIGHT_BYTES: String(64 * 1024 * 1024),
    },
    [Symbol.asyncDispose]: () => vendor.close(),
  };
}

const eventStream = { "content-type": "text/event-stream" };

/** Resolves when the service's metrics say so. */
async function untilCounted(service: TestService, sample: string): Promise<void> {
  while (!(await (await service.fetch("/metrics")).text()).includes(sample)) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Registers a test of a service with a vendor under the test's control. */
function withVendor(
  name: string,
  test: (
    service: TestService,
    vendor: Awaited<ReturnType<typeof startVendor>>,
  ) => Promise<void>,
): void {
  let vendor: Awaited<ReturnType<typeof startVendor>> | undefined;
  eachService(name, async () => (vendor = await startVendor()).env, async (service) => {
    await using opened = vendor!;
    await test(service, opened);
  });
}

async function ask(service: TestService, body: unknown, headers = {}): Promise<CachedReply> {
  return await cachedReply(
    await untilAdmitted(() => service.post(path, body, { ...ttl, ...headers })),
  );
}

withVendor("50 equal calls at once ask the vendor once, whole and streamed", async (
  service,
  vendor,
) => {
  for (const stream of [false, true]) {
    const gate = Promise.withResolvers<void>();
    const before = vendor.calls();
    vendor.scripts.push(async (exchange) => {
      await gate.promise;
      return stream
        ? await exchange.stream(streamEvents, eventStream)
        : await exchange.answer(200, wholeAnswer);
    });
    const asked = Array.from({ length: 50 }, () => ask(service, bodyOf("At once.", stream)));
    await new Promise((resolve) => setTimeout(resolve, 500));
    gate.resolve();
    const answers = await Promise.all(asked);
    assert.equal(vendor.calls() - before, 1);
    assert.equal(answers.filter(({ cache }) => cache === "MISS").length, 1);
    const [filled] = answers.filter(({ cache }) => cache === "MISS");
    const hits = answers.filter(({ cache }) => cache !== "MISS");
    for (const hit of hits) assertHit(filled!, hit);
    assert.equal(new Set(answers.map(({ transaction }) => transaction)).size, 50);
    const rows = await service.rows({ cache: "hit", stream });
    assert.equal(rows.length, 49);
    for (const row of rows) assert.deepEqual(moneyOf(row), hitMoney);
  }
  // Two calls of 10 tokens in and 5 out, and 98 for nothing.
  const { balance_usd } = (await service.admin("credits", "show")).json as { balance_usd: string };
  assert.equal(balance_usd, "9.999880000");
});

withVendor("of calls whose vendor fails the next one asks, one at a time", async (
  service,
  vendor,
) => {
  let open = 0;
  let most = 0;
  const failing = async (exchange: FakeExchange) => {
    most = Math.max(most, ++open);
    await new Promise((resolve) => setTimeout(resolve, 20));
    open--;
    return await exchange.answer(400, { error: { message: "No." } });
  };
  vendor.scripts.push(failing, failing, failing);
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => ask(service, bodyOf("Sorry."))),
  );
  assert.equal(vendor.calls(), 4);
  assert.equal(most, 1);
  const counts = Map.groupBy(answers, ({ status, cache }) => `${status} ${cache}`);
  assert.deepEqual(
    Object.fromEntries([...counts].map(([kind, all]) => [kind, all.length])),
    { "400 null": 3, "200 MISS": 1, "200 HIT": 8 },
  );
});

const [firstEvent, ...laterEvents] = streamEvents;

/** Answers of which nothing may be stored. */
const incomplete: Readonly<
  Record<string, { stream: boolean; script(one: FakeExchange): unknown }>
> = {
  "an error": {
    stream: false,
    script: (one) => one.answer(429, { error: { message: "Later." } }, { "retry-after": "60" }),
  },
  "an answer that can't be read": { stream: false, script: (one) => one.answer(200, "{") },
  "a stream that is cut": {
    stream: true,
    async script(one) {
      await one.head(200, eventStream);
      await one.write(firstEvent!);
      await one.write(laterEvents[0]!);
      one.cut();
    },
  },
  "a stream that ends too early": {
    stream: true,
    script: (one) => one.stream(streamEvents.slice(0, 3), eventStream),
  },
  "a stream with an error": {
    stream: true,
    script: (one) =>
      one.stream(
        [firstEvent!, laterEvents[0]!, 'data: {"error":{"message":"Oh."}}\n\n'],
        eventStream,
      ),
  },
};

for (const [name, { stream, script }] of Object.entries(incomplete)) {
  withVendor(`${name} is not kept`, async (service, vendor) => {
    // Some failures are tried again.
    vendor.scripts.push(...Array.from({ length: 6 }, () => script));
    await ask(service, bodyOf("Whole?", stream));
    vendor.scripts.length = 0;
    const calls = vendor.calls();
    const next = await ask(service, bodyOf("Whole?", stream));
    assert.deepEqual([next.status, next.cache, vendor.calls()], [200, "MISS", calls + 1]);
    assertHit(next, await ask(service, bodyOf("Whole?", stream)));
  });
}

withVendor("an answer of more than 16 MiB is given and not kept", async (service, vendor) => {
  const content = "word ".repeat(3_500_000);
  const [choice] = wholeAnswer.choices;
  const large = {
    ...wholeAnswer,
    choices: [{ ...choice, message: { ...choice.message, content } }],
  };
  vendor.scripts.push((one) => one.answer(200, large));
  const first = await ask(service, bodyOf("Much."));
  assert.deepEqual([first.status, first.cache], [200, "MISS"]);
  assert.equal(JSON.parse(first.text).choices[0].message.content.length, content.length);
  assert.equal((await ask(service, bodyOf("Much."))).cache, "MISS");
});

withVendor("who leaves in mid-stream leaves nothing, and one of those who wait goes on", async (
  service,
  vendor,
) => {
  vendor.scripts.push(async (one) => {
    await one.head(200, eventStream);
    await one.write(firstEvent!);
    await one.closed;
  });
  const leaving = new AbortController();
  const headers = { "content-type": "application/json", ...ttl };
  const init = { method: "POST", headers, body: JSON.stringify(bodyOf("Stay.", true)) };
  const first = await service.fetch(path, { ...init, signal: leaving.signal });
  await first.body!.getReader().read();
  const others = [ask(service, bodyOf("Stay.", true)), ask(service, bodyOf("Stay.", true))];
  const impatient = new AbortController();
  const third = service.fetch(path, { ...init, signal: impatient.signal }).catch(() => "left");
  await within(60_000, untilCounted(service, "\ngateway_calls_under_way 4\n"));
  impatient.abort();
  assert.equal(await third, "left");
  // Once the service has noticed it. Before, the third could still be answered when the first
  // leaves.
  await within(60_000, untilCounted(service, 'status="499"'));
  assert.equal(vendor.calls(), 1);
  leaving.abort();
  const answers = await Promise.all(others);
  assert.deepEqual(answers.map(({ cache }) => cache).sort(), ["HIT", "MISS"]);
  assert.equal(vendor.calls(), 2);
  const rows = await service.rows({});
  assert.deepEqual(
    rows.map(({ status, cache }) => `${status} ${cache}`).sort(),
    ["cancelled miss", "completed hit", "completed miss"],
  );
});

withVendor("who waits for an answer does not wait for its reader", async (service, vendor) => {
  // More than the system's buffers hold, in events that each say little.
  const begun = JSON.parse(firstEvent!.slice("data: ".length));
  const delta = { role: "assistant", content: "word " };
  const event = { ...begun, choices: [{ index: 0, delta }], obfuscation: "x".repeat(1000) };
  const piece = `data: ${JSON.stringify(event)}\n\n`.repeat(100);
  const pieces = Array.from({ length: 100 }, () => piece);
  vendor.scripts.push((one) => one.stream([...pieces, ...streamEvents], eventStream));
  const headers = { "content-type": "application/json", ...ttl };
  const init = { method: "POST", headers, body: JSON.stringify(bodyOf("Much.", true)) };
  const unread = await service.fetch(path, init);
  const hit = await within(20_000, ask(service, bodyOf("Much.", true)));
  assert.deepEqual([hit.cache, vendor.calls()], ["HIT", 1]);
  assert.equal(await unread.text(), hit.text);
});

withVendor("an answer is erased with the call that made it, and hits keep their own", async (
  service,
  vendor,
) => {
  const erase = async (selectors: Record<string, unknown>) => {
    const answer = await service.fetch("/api/v1/data", {
      method: "DELETE",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ confirm: true, ...selectors }),
    });
    assert.equal(answer.status, 200);
    await answer.body?.cancel();
  };
  const body = bodyOf("Forget it.");
  const filled = await ask(service, body, { "x-session-id": "first" });
  const hit = await ask(service, body, { "x-session-id": "second" });
  assertHit(filled, hit);
  await erase({ session_ids: ["second"] });
  assertHit(filled, await ask(service, body, { "x-session-id": "third" }));
  await erase({ transaction_ids: [filled.transaction] });
  const next = await ask(service, body, { "x-session-id": "fourth" });
  assert.deepEqual([next.cache, vendor.calls()], ["MISS", 2]);
  const rows = await service.rows({});
  assert.deepEqual(rows.map(({ session_id }) => session_id), ["third", "fourth"]);
  // While it is under way, too.
  const gate = Promise.withResolvers<void>();
  vendor.scripts.push(async (one) => {
    await gate.promise;
    await one.answer(200, wholeAnswer);
  });
  const other = bodyOf("Forget this.");
  const underWay = ask(service, other, { "x-session-id": "fifth" });
  // Asked at the same time, the other may be the one that asks the vendor.
  while (vendor.calls() < 3) await new Promise((resolve) => setTimeout(resolve, 10));
  const waiting = ask(service, other, { "x-session-id": "sixth" });
  await new Promise((resolve) => setTimeout(resolve, 200));
  await erase({ session_ids: ["fifth"] });
  gate.resolve();
  assert.equal((await underWay).cache, "MISS");
  assert.equal((await waiting).cache, "MISS", "it asks the vendor itself");
  assert.equal((await ask(service, other)).cache, "HIT");
});

withVendor("a hit calls no vendor; how long it takes is printed", async (service, vendor) => {
  const times: Record<"vendor" | "cache", number[]> = { vendor: [], cache: [] };
  await ask(service, bodyOf("Quick?"));
  const calls = vendor.calls();
  for (let round = 0; round < 100; round++) {
    for (const [kind, seconds] of [["vendor", "0"], ["cache", "600"]] as const) {
      const begun = performance.now();
      const reply = await ask(service, bodyOf("Quick?"), { "x-cache-ttl": seconds });
      times[kind].push(performance.now() - begun);
      assert.equal(reply.cache, kind === "cache" ? "HIT" : null);
    }
  }
  assert.equal(vendor.calls() - calls, 100);
  const median = (all: number[]) => all.sort((a, b) => a - b)[50]!.toFixed(1);
  console.log(
    `median of 100: a hit ${median(times.cache)} ms, a vendor that answers at once ${
      median(times.vendor)
    } ms`,
  );
});

withVendor("an answer of a fallback is given again as that model's, without a vendor", async (
  service,
  vendor,
) => {
  vendor.scripts.push((one) => one.answer(503, { error: { message: "Away." } }));
  const headers = { ...ttl, "x-fallback-models": "openai/gpt-5-mini" };
  const body = { ...bodyOf("Who?"), model: "openai/gpt-4.1" };
  const call = async (more = {}) => {
    const response = await service.post("/chat/v1/chat/completions", body, { ...headers, ...more });
    const [model, attempts] = ["x-model", "x-attempts"].map((name) => response.headers.get(name));
    return { model, attempts, reply: await cachedReply(response) };
  };
  const [first, second] = [await call(), await call()];
  assert.deepEqual([first.model, first.attempts], ["vendor-b/gpt-5-mini", "2"]);
  assert.equal(first.reply.cache, "MISS");
  assertHit(first.reply, second.reply);
  assert.deepEqual([second.model, second.attempts], ["vendor-b/gpt-5-mini", null]);
  assert.equal(vendor.calls(), 2);
  const row = await service.row(second.reply.transaction);
  assert.deepEqual([row.model, row.requested_model, row.attempts], [
    ...["gpt-5-mini", "openai/gpt-4.1"],
    null,
  ]);
  assert.deepEqual(moneyOf(row), hitMoney);
  const others = await call({ "x-fallback-models": "" });
  assert.equal(others.reply.cache, "MISS", "other candidates");
});
