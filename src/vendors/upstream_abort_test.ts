import assert from "@std/assert";
import { promisedMs } from "../../tests/support/quiet.ts";
import {
  keepConnection,
  rejectsAborted,
  rejectsWith,
  type Setup,
  turns,
  until,
  withVendor,
} from "../../tests/support/upstream_setup.ts";

/** Leaves a call at some point and waits until the vendor's connection is gone. */
const left = async (setup: Setup, when: (caller: AbortController) => Promise<unknown>) => {
  const caller = new AbortController();
  const outcome = when(caller);
  await rejectsAborted(outcome as Promise<unknown>);
  await until(() => setup.vendor.openConnections === 0);
};

Deno.test("an abort before the answer hangs up at once", async (t) => {
  await t.step("before the call", () =>
    withVendor(async (setup) => {
      await left(setup, (caller) => {
        caller.abort();
        return setup.post({ signal: caller.signal });
      });
      assert.equal(setup.vendor.connections, 0);
    }));
  await t.step("before an answer", () =>
    withVendor((setup) =>
      left(setup, async (caller) => {
        const calling = setup.post({ signal: caller.signal });
        await setup.vendor.next();
        caller.abort();
        await calling;
      })
    ));
  await t.step("before an answer, on a kept connection", () =>
    withVendor(async (setup) => {
      await keepConnection(setup);
      await left(setup, async (caller) => {
        const calling = setup.post({ signal: caller.signal });
        await setup.vendor.next();
        caller.abort();
        await calling;
      });
      await turns();
      assert.equal(setup.vendor.requests.length, 2, "the request is not sent again");
    }));
});

Deno.test("an abort later hangs up at once, whatever was going on", async (t) => {
  await t.step("within the answer, paused or not", async () => {
    for (const paused of [false, true]) {
      await withVendor((setup) =>
        left(setup, async (caller) => {
          const calling = setup.post({ signal: caller.signal });
          const exchange = await setup.vendor.next();
          await exchange.head(200);
          const { body } = await calling;
          const reading = body.readAll(100);
          if (paused) body.pause();
          await exchange.write("a");
          caller.abort();
          await reading;
        })
      );
    }
  });
  await t.step(
    "after the headers, before anybody reads",
    () =>
      withVendor((setup) =>
        left(setup, async (caller) => {
          const calling = setup.post({ signal: caller.signal });
          await (await setup.vendor.next()).head(200);
          const { body } = await calling;
          caller.abort();
          await body.readAll(100);
        })
      ),
  );
  await t.step(
    "while waiting to try again",
    () =>
      withVendor((setup) =>
        left(setup, async (caller) => {
          const calling = setup.post({ signal: caller.signal });
          const exchange = await setup.vendor.next();
          await exchange.head(503);
          // The back-off: until then the try's own timer is pending.
          await until(() => setup.timers.nextMs === 250);
          caller.abort();
          await calling;
        })
      ),
  );
});

Deno.test("a request that is left is reported, and none that was not made", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const caller = new AbortController();
    const told: unknown[] = [];
    const call = (signal: AbortSignal) =>
      post({ signal, onTry: ({ status, aborted }) => told.push(status ?? aborted) });
    const waiting = call(caller.signal);
    await (await vendor.next()).answer(503, "busy");
    await until(() => timers.nextMs === 250);
    caller.abort();
    await rejectsAborted(waiting);
    await rejectsAborted(call(caller.signal));
    assert.deepEqual(told, [503], "left between two requests, and before the first");
    const later = new AbortController();
    const asking = call(later.signal);
    await vendor.next();
    later.abort();
    await rejectsAborted(asking);
    assert.deepEqual(told, [503, true]);
  }));

Deno.test("the vendor sees an abort within 100 ms", () =>
  withVendor(async ({ vendor, post }) => {
    const caller = new AbortController();
    const calling = post({ signal: caller.signal });
    const exchange = await vendor.next();
    await exchange.head(200);
    await exchange.write("a");
    (await calling).body.onData({ data: () => {}, end: () => {}, error: () => {} });
    const startMs = performance.now();
    caller.abort();
    await exchange.closed;
    assert.ok(performance.now() - startMs < promisedMs(100));
  }));

Deno.test("a body that nobody wants is closed by destroy, and its reader hears nothing more", () =>
  withVendor(async ({ vendor, post }) => {
    const calling = post();
    const exchange = await vendor.next();
    await exchange.head(200);
    const { body } = await calling;
    const heard: string[] = [];
    body.onData({
      data: () => heard.push("data"),
      end: () => heard.push("end"),
      error: () => heard.push("error"),
    });
    body.destroy();
    await exchange.closed;
    assert.deepEqual(heard, []);
  }));

Deno.test("an error thrown by a reader reaches the reader and closes the connection", () =>
  withVendor(async ({ vendor, post }) => {
    const calling = post();
    const exchange = await vendor.next();
    await exchange.head(200);
    const failed = Promise.withResolvers<unknown>();
    (await calling).body.onData({
      data() {
        throw new Error("broken reader");
      },
      end: () => {},
      error: failed.resolve,
    });
    await exchange.write("a");
    assert.match(String(await failed.promise), /broken reader/);
    await exchange.closed;
  }));

Deno.test("close ends calls under way, and kept connections with them", () =>
  withVendor(async ({ upstream, vendor, post }) => {
    await keepConnection({ vendor, post });
    const waiting = post();
    waiting.catch(() => {});
    await vendor.next();
    const streaming = post();
    const exchange = await vendor.next();
    await exchange.head(200);
    const reading = (await streaming).body.readAll(100);
    reading.catch(() => {});
    upstream.close();
    await rejectsWith(reading, "upstream_stream_truncated");
    await rejectsWith(waiting, "upstream_unreachable");
    await rejectsWith(post(), "overloaded");
    await until(() => vendor.openConnections === 0);
    assert.equal(vendor.requests.length, 3);
  }));
