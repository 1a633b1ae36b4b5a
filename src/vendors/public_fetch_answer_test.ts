import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import {
  type FakeExchange,
  type FakeVendor,
  startFakeVendor,
} from "../../tests/support/fake_vendor.ts";
import { turns, until } from "../../tests/support/upstream_setup.ts";
import { Fault } from "../shared/fault.ts";
import { createLookupTurns } from "./public_agents.ts";
import { createPublicFetch, maxPublicBytes, type PublicFetchOptions } from "./public_fetch.ts";
import { isAbort } from "./upstream.ts";

interface Setup {
  timers: FakeTimers;
  host: FakeVendor;
  fetch(options?: Partial<PublicFetchOptions>): Promise<{ bytes: Uint8Array; mimeType: string }>;
}

/** A plain host on loopback that the operator allowed, its answers written byte by byte. */
async function withHost(run: (setup: Setup) => Promise<void>): Promise<void> {
  const timers = new FakeTimers();
  const host = await startFakeVendor();
  const { clock, later: setTimer } = timers;
  const client = createPublicFetch({ clock, setTimer, allowHosts: ["127.0.0.1"] });
  const signal = new AbortController().signal;
  const fetch: Setup["fetch"] = (options = {}) =>
    client.fetch(`${host.url}/a`, {
      key: "1",
      signal,
      maxBytes: 1000,
      accept: ["image/*"],
      ...options,
    });
  try {
    await run({ timers, host, fetch });
    assert.equal(timers.pending, 0, "no timer is left behind");
  } finally {
    await host.close();
  }
}

async function refused(fetching: Promise<unknown>, message: string): Promise<void> {
  const thrown = await fetching.then(() => undefined, (reason: unknown) => reason);
  if (!(thrown instanceof Fault)) throw new Error(`Expected a fault, got ${thrown}`);
  assert.deepEqual([thrown.code, thrown.message], ["invalid_value", message]);
  assert.doesNotMatch(`${thrown.note}`, /127\.0\.0\.1|:\d{4}/);
}

const png = { "content-type": "image/png" };
const notFetched = "the URL can't be fetched: it must be a public https URL that responds";
const tooLate = "the URL didn't answer completely within 10 seconds";

Deno.test("bytes arrive whole, however they were cut, up to the very limit", () =>
  withHost(async ({ host, fetch }) => {
    const sent = new Uint8Array(300_000).map((_, index) => index * 7 % 251);
    const fetching = fetch({ maxBytes: sent.byteLength });
    const exchange = await host.next();
    await exchange.stream([sent.slice(0, 1), sent.slice(1, 70_000), sent.slice(70_000)], png);
    const { bytes } = await fetching;
    assert.deepEqual(bytes, sent);
    const empty = fetch();
    await (await host.next()).answer(200, "", png);
    assert.equal((await empty).bytes.byteLength, 0);
  }));

Deno.test("what is too large is refused before and while it is read, and hung up on", () =>
  withHost(async ({ host, fetch }) => {
    const message = "the URL returned more than 1000 bytes";
    const announced = fetch();
    const first = await host.next();
    await first.head(200, png, { length: 1001 });
    await refused(announced, message);
    await first.closed;
    const streamed = fetch();
    const second = await host.next();
    await second.head(200, png);
    await second.write(new Uint8Array(1000));
    await second.write("x");
    await refused(streamed, message);
    await second.closed;
  }));

Deno.test("nobody can ask for more than 20 MiB of one address", () =>
  withHost(async ({ host, fetch }) => {
    const fetching = fetch({ maxBytes: Infinity });
    await (await host.next()).head(200, png, { length: maxPublicBytes + 1 });
    await refused(fetching, "the URL returned more than 20971520 bytes");
  }));

Deno.test("a host that is slow has ten seconds in all, whatever it does meanwhile", async (t) => {
  const slow: Record<string, (exchange: FakeExchange) => Promise<void>> = {
    "it never answers": () => Promise.resolve(),
    "it sends half a head": (exchange) => exchange.raw("HTTP/1.1 200 OK\r\nx: "),
    "it stops within the body": async (exchange) => {
      await exchange.head(200, png);
      await exchange.write("a");
    },
  };
  for (const [name, behave] of Object.entries(slow)) {
    await t.step(name, () =>
      withHost(async ({ timers, host, fetch }) => {
        const fetching = fetch();
        const exchange = await host.next();
        await behave(exchange);
        await turns();
        timers.advance(9_999);
        await turns();
        assert.equal(host.openConnections, 1);
        timers.advance(1);
        await refused(fetching, tooLate);
        await exchange.closed;
      }));
  }
  await t.step("it trickles", () =>
    withHost(async ({ timers, host, fetch }) => {
      const fetching = fetch();
      fetching.catch(() => {});
      const exchange = await host.next();
      await exchange.head(200, png);
      for (let second = 0; second < 10; second++) {
        await exchange.write("a");
        await turns();
        timers.advance(1000);
      }
      await refused(fetching, tooLate);
    }));
  await t.step(
    "redirects take part of the time",
    () =>
      withHost(async ({ timers, host, fetch }) => {
        const fetching = fetch();
        const first = await host.next();
        timers.advance(6000);
        await first.answer(302, "", { location: "/b" });
        await host.next();
        timers.advance(4000);
        await refused(fetching, tooLate);
      }),
  );
});

Deno.test("only the media types that were asked for are taken", () =>
  withHost(async ({ host, fetch }) => {
    const cases: [type: string | undefined, accept: string[], taken: string | undefined][] = [
      ["image/png", ["image/*"], "image/png"],
      ["IMAGE/JPG ; q=1", ["image/jpeg"], "image/jpeg"],
      [undefined, ["application/octet-stream"], "application/octet-stream"],
      [undefined, ["image/*"], undefined],
      ["text/html", ["image/*", "text/plain"], undefined],
      ["imagex/png", ["image/*"], undefined],
      ["image", ["image/*"], undefined],
      ["text/plainer", ["text/plain"], undefined],
    ];
    for (const [type, accept, taken] of cases) {
      const fetching = fetch({ accept });
      const exchange = await host.next();
      await exchange.head(200, type === undefined ? {} : { "content-type": type });
      if (taken === undefined) {
        const said = type ?? "application/octet-stream";
        await refused(fetching, `the URL returned '${said}'; expected ${accept.join(", ")}`);
        await exchange.closed;
      } else {
        await exchange.end();
        assert.equal((await fetching).mimeType, taken);
      }
    }
  }));

Deno.test("what a foreign server calls its type is shown only as far as it is a type", () =>
  withHost(async ({ host, fetch }) => {
    const fetching = fetch();
    await (await host.next()).head(200, { "content-type": `a/<b>"${"c".repeat(500)}` });
    const shown = `a/?b??${"c".repeat(74)}`;
    await refused(fetching, `the URL returned '${shown}'; expected image/*`);
  }));

Deno.test("other statuses and content encodings are refused by name", () =>
  withHost(async ({ host, fetch }) => {
    for (const status of [204, 206, 300, 304, 401, 404, 500]) {
      const fetching = fetch();
      await (await host.next()).answer(status, "", { ...png, location: "/b" });
      await refused(fetching, `the URL answered with status ${status}; expected 200`);
    }
    const bare = fetch();
    await (await host.next()).answer(302, "", png);
    await refused(bare, "the URL answered with status 302; expected 200");
    for (const encoding of ["gzip", "br", "identity, gzip", "x"]) {
      const fetching = fetch();
      await (await host.next()).answer(200, "", { ...png, "content-encoding": encoding });
      await refused(fetching, "the URL answered with an unrequested content encoding");
    }
    const plain = fetch();
    await (await host.next()).answer(200, "a", { ...png, "content-encoding": "Identity" });
    assert.equal((await plain).bytes.byteLength, 1);
  }));

Deno.test("a cut answer is an error, never half a picture", () =>
  withHost(async ({ host, fetch }) => {
    for (const how of ["cut", "reset"] as const) {
      const fetching = fetch();
      const exchange = await host.next();
      await exchange.head(200, png, { length: 10 });
      await exchange.write("half");
      await turns();
      exchange[how]();
      await refused(fetching, "the URL ended before its answer was complete");
    }
  }));

Deno.test("closed ports, broken servers and hang-ups look like what is private", () =>
  withHost(async ({ host, fetch }) => {
    const broken = fetch();
    await (await host.next()).raw("SSH-2.0-x\r\n\r\n");
    await refused(broken, notFetched);
    const flooded = fetch();
    await (await host.next()).raw(`HTTP/1.1 200 OK\r\na: ${"b".repeat(100_000)}\r\n\r\n`);
    await refused(flooded, notFetched);
    const hungUp = fetch();
    (await host.next()).reset();
    await refused(hungUp, notFetched);
    await host.close();
    await refused(fetch(), notFetched);
    assert.equal(host.requests.length, 3, "nothing is asked twice");
  }));

Deno.test("an abort hangs up at once, whatever was going on", async () => {
  const aborted = async (fetching: Promise<unknown>) => {
    const thrown = await fetching.then(() => undefined, (reason: unknown) => reason);
    assert.equal(isAbort(thrown), true, String(thrown));
  };
  const behaviours: ((exchange: FakeExchange) => Promise<void>)[] = [
    () => Promise.resolve(),
    (exchange) => exchange.head(200, png),
    (exchange) => exchange.head(200, png).then(() => exchange.write("a")),
  ];
  for (const behave of behaviours) {
    await withHost(async ({ host, fetch }) => {
      const caller = new AbortController();
      const fetching = fetch({ signal: caller.signal });
      await behave(await host.next());
      await turns();
      caller.abort();
      await aborted(fetching);
      await until(() => host.openConnections === 0);
    });
  }
  await withHost(async ({ host, fetch }) => {
    await aborted(fetch({ signal: AbortSignal.abort() }));
    assert.equal(host.connections, 0);
  });
});

Deno.test("an abort while a name is looked up leads to no connection afterwards", async () => {
  await withHost(async ({ timers, host }) => {
    const { promise, resolve } = Promise.withResolvers<{ address: string; family: number }[]>();
    const { clock, later: setTimer } = timers;
    const allowHosts = ["files.internal"];
    const client = createPublicFetch({ clock, setTimer, allowHosts, resolve: () => promise });
    const caller = new AbortController();
    const url = `http://files.internal:${host.port}/`;
    const fetching = client.fetch(url, {
      key: "1",
      signal: caller.signal,
      maxBytes: 1,
      accept: [],
    });
    await turns();
    caller.abort();
    assert.equal(isAbort(await fetching.catch((reason: unknown) => reason)), true);
    resolve([{ address: "127.0.0.1", family: 4 }]);
    await turns();
    assert.equal(host.connections, 0);
  });
});

Deno.test("a process looks up few names at once, accounts by turns, and none for who has left", async () => {
  const { clock, later: setTimer } = new FakeTimers();
  const lookups = createLookupTurns();
  const started: { name: string; fail: () => void }[] = [];
  const resolve = (name: string) =>
    new Promise<never>((_, reject) => {
      started.push({ name, fail: () => reject(new Error("no server answers")) });
    });
  const names = () => started.map(({ name }) => name).join(" ");
  // As media of callers and webhooks have.
  const [media, hooks] = [0, 1].map(() =>
    createPublicFetch({ ...{ clock, setTimer, lookups, resolve }, allowHosts: [] })
  );
  const caller = new AbortController();
  const ask = (client: typeof media, key: string, name: string, signal = caller.signal) =>
    client!.fetch(`https://${name}/`, { key, signal, maxBytes: 1, accept: [] }).catch(() => {});
  const own = ["a", "b", "c", "d", "e", "f"].map((name) => ask(media, "1", name));
  const { signal } = new AbortController();
  const others = [["2", "g"], ["2", "h"], ["3", "i"], ["3", "j"], ["3", "k"]]
    .map(([key, name]) => ask(hooks, key!, name!, signal));
  await turns();
  assert.equal(names(), "a b c d g h i j");
  caller.abort();
  await Promise.all(own);
  // The threads are still busy with what the caller left.
  assert.equal(started.length, 8);
  for (const { fail } of started) fail();
  await turns();
  assert.equal(names(), "a b c d g h i j k");
  started.at(-1)!.fail();
  await Promise.all(others);
  assert.deepEqual([lookups.inside, lookups.waiting], [0, 0]);
});

Deno.test("a fetch that has failed waits for no lookup", async () => {
  const timers = new FakeTimers();
  const { clock, later: setTimer } = timers;
  const lookups = createLookupTurns();
  const resolve = () => new Promise<never>(() => {});
  const client = createPublicFetch({ clock, setTimer, lookups, resolve, allowHosts: [] });
  const { signal } = new AbortController();
  const fetches = Array.from({ length: 6 }, (_, at) => {
    const options = { key: "1", signal, maxBytes: 1, accept: [] };
    return refused(client.fetch(`https://n${at}.example/`, options), notFetched);
  });
  await turns();
  assert.deepEqual([lookups.inside, lookups.waiting], [4, 2]);
  timers.advance(4_000);
  await Promise.all(fetches);
  assert.deepEqual([lookups.inside, lookups.waiting], [4, 0]);
});
