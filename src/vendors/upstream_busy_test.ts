import assert from "@std/assert";
import { startFakeVendor } from "../../tests/support/fake_vendor.ts";
import { turns } from "../../tests/support/upstream_setup.ts";
import { systemClock } from "../base/clock.ts";
import { createUpstream } from "./upstream.ts";

/** Keeps the whole process from looking at its timers and sockets. */
function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

Deno.test("time in which this process was busy is not the vendor's", async (t) => {
  const timeouts = { connectMs: 300, firstByteMs: 300, idleMs: 300 };
  await using vendor = await startFakeVendor();
  const upstream = createUpstream({ clock: systemClock, timeouts, maxAnswerBytes: 1000 });
  const { signal } = new AbortController();
  const call = () =>
    upstream.call({ url: vendor.url, method: "POST", headers: {}, body: "{}", signal });
  try {
    await t.step("while a connection was made", async () => {
      const calling = call();
      block(700);
      await (await vendor.next()).answer(200, "a");
      assert.equal((await (await calling).body.readAll(10)).length, 1);
    });
    await t.step("while an answer was waited for, and within it", async () => {
      const calling = call();
      const exchange = await vendor.next();
      await exchange.head(200);
      block(700);
      const reading = (await calling).body.readAll(10);
      await exchange.write("a");
      await turns();
      await exchange.write("b");
      block(700);
      await exchange.end();
      assert.equal((await reading).length, 2);
    });
  } finally {
    upstream.close();
  }
});
