import assert from "@std/assert";
import type { FakeExchange } from "../support/fake_vendor.ts";
import {
  type Script,
  startScriptedService,
  streamEvents,
  wholeAnswer,
} from "../support/service_scripted.ts";

Deno.test("beyond its streams an account gets Retry-After, and its other calls continue", async () => {
  await using service = await startScriptedService({ STREAMS_PER_ACCOUNT_MAX: "2" });
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const open = (until: Promise<void>): Script => async (exchange) => {
    await exchange.head(200, { "content-type": "text/event-stream" });
    await exchange.write(streamEvents[0]!);
    await until;
    for (const piece of streamEvents.slice(1)) await exchange.write(piece);
    await exchange.end();
  };
  const streams = [];
  for (const { promise } of ends) {
    streams.push((await service.call(open(promise), { stream: true })).response);
  }
  const { response: refused, tries } = await service.call(open(Promise.resolve()), {
    stream: true,
  });
  const { error } = await refused.json();
  assert.deepEqual([refused.status, error.type, error.code, tries.length], [
    ...[429, "rate_limit_error", "rate_limit_exceeded", 0],
  ]);
  assert.match(error.message, /2 streams open/);
  assert.equal(refused.headers.get("retry-after"), "5");
  const { response: whole } = await service.call((exchange) => exchange.answer(200, wholeAnswer));
  assert.equal(whole.status, 200);
  await whole.body?.cancel();
  ends[0].resolve();
  await streams[0]!.text();
  const { response: next } = await service.call(open(Promise.resolve()), { stream: true });
  assert.equal(next.status, 200);
  ends[1].resolve();
  for (const one of [next, streams[1]!]) await one.text();
  const rows = await service.rows();
  assert.deepEqual(rows.map(({ status }) => status), Array(4).fill("completed"));
});

Deno.test("whole answers that go on without their callers count as streams", async () => {
  await using service = await startScriptedService({ STREAMS_PER_ACCOUNT_MAX: "2" });
  const { key } = await service.createKey("--on-disconnect", "drain");
  const headers = { authorization: `Bearer ${key}` };
  const answer = (exchange: FakeExchange) => exchange.answer(200, wholeAnswer);
  const goOn = Promise.withResolvers<void>();
  const left = [];
  for (let count = 0; count < 2; count++) {
    const asked = Promise.withResolvers<void>();
    const caller = new AbortController();
    const call = service.call(async (exchange) => {
      asked.resolve();
      await goOn.promise;
      await answer(exchange);
    }, { headers, signal: caller.signal });
    await asked.promise;
    left.push({ caller, call });
  }
  for (const { caller, call } of left) {
    caller.abort();
    await assert.rejects(() => call, { name: "AbortError" });
  }
  for (const stream of [false, true]) {
    const { response, tries } = await service.call(answer, { headers, stream });
    const { error } = await response.json();
    assert.deepEqual([response.status, error.code, tries.length], [
      ...[429, "rate_limit_exceeded", 0],
    ]);
  }
  const { response: other } = await service.call(answer);
  assert.equal(other.status, 200, "a call that ends with its caller doesn't count");
  await other.body?.cancel();
  goOn.resolve();
  let status = 429;
  for (let tries = 0; status === 429 && tries < 600; tries++) {
    if (tries > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    const { response: next } = await service.call(answer, { headers });
    status = next.status;
    await next.body?.cancel();
  }
  assert.equal(status, 200);
});
