import assert from "@std/assert";
import { openTestListener as open } from "../../tests/support/listener.ts";
import { dial, get, listenersOf, pause } from "../../tests/support/raw_connection.ts";

Deno.test("beyond the caps silent connections make room, calls continue, others get a 503", async () => {
  const ended: string[] = [];
  const answer = Promise.withResolvers<void>();
  let begun = 0;
  const listener = await open(async (request) => {
    if (request.url.endsWith("/wait")) {
      begun++;
      await answer.promise;
    }
    return new Response("fine");
  }, { most: 4, maxPerPeer: 100 });
  listener.setListeners(listenersOf(ended));
  using busy = await dial(listener.port);
  await busy.send("GET /wait HTTP/1.1\r\nhost: x\r\n\r\n");
  const silent = [];
  for (let times = 0; times < 20; times++) silent.push(await dial(listener.port));
  using late = await dial(listener.port);
  await late.send(get);
  assert.match(await late.piece(), /^HTTP\/1\.1 200 /);
  const others = [];
  for (let times = 0; times < 3; times++) {
    const other = await dial(listener.port);
    others.push(other);
    await other.send("GET /wait HTTP/1.1\r\nhost: x\r\n\r\n");
  }
  for (let looks = 0; begun < 4 && looks < 5_000; looks++) await pause(5);
  using refused = await dial(listener.port);
  assert.match(await refused.rest(), /^HTTP\/1\.1 503 .*full!$/s);
  answer.resolve();
  for (const one of [busy, ...others]) assert.match(await one.piece(), /^HTTP\/1\.1 200 /);
  for (const one of [...silent, ...others]) one[Symbol.dispose]();
  assert.ok(ended.includes("made_room") && ended.includes("full"));
  await listener.drain(1000);
});
