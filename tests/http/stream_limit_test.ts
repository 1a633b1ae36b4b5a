import assert from "@std/assert";
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
