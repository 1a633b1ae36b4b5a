import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import { Fault } from "../shared/fault.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import { Catalogue } from "./catalogue.ts";
import type { Prices } from "../pricing/table/prices.ts";
import { createRegistry, type Vendor } from "./registry.ts";
import type { Upstream, UpstreamAnswer, UpstreamRequest } from "./upstream.ts";
import { UpstreamAborted } from "./upstream_failure.ts";

type Answering = (request: UpstreamRequest) => unknown;

/** A client whose vendor answers what the test says: a JSON value, `{status, text}`, or a throw. */
class FakeUpstream implements Upstream {
  readonly requests: UpstreamRequest[] = [];
  answering: Answering = () => ({ data: [] });

  async call(request: UpstreamRequest): Promise<UpstreamAnswer> {
    this.requests.push(request);
    const said = await this.answering(request);
    const { status, text } = said instanceof Raw
      ? said
      : { status: 200, text: JSON.stringify(said) };
    const body = {
      readAll: (maxBytes: number) => {
        const bytes = new TextEncoder().encode(text);
        return bytes.length > maxBytes
          ? Promise.reject(new Fault("upstream_invalid_response"))
          : Promise.resolve(bytes);
      },
      onData() {},
      pause() {},
      resume() {},
      destroy() {},
    };
    return { status, headers: {}, attempts: 1, attemptLog: [], body };
  }

  close() {}

  get paths(): string[] {
    return this.requests.map(({ url }) => url.slice(url.indexOf("/models")));
  }
}

class Raw {
  constructor(readonly status: number, readonly text: string) {}
}

const registry = createRegistry(
  Object.fromEntries(
    ["a", "b", "c", "d", "f"].map((letter) => [
      `vendor-${letter}`,
      { baseUrl: `http://${letter}.example/v1`, apiKey: new Secret(`key-${letter}`) },
    ]),
  ),
  [],
);
const vendor = (name: string): Vendor => registry.find(name)!;

function setup() {
  const clock = new FakeClock();
  const upstream = new FakeUpstream();
  const learned: [string, readonly PriceRow[]][] = [];
  const prices: Prices = {
    find: () => undefined,
    chatRefuses: () => [],
    listed: () => [],
    rows: () => [],
    learn: (label, rows) => void learned.push([label, rows]),
  };
  const logged: unknown[] = [];
  const log = { warn: (message: string, more: unknown) => void logged.push([message, more]) };
  const catalogue = new Catalogue({ clock, upstream, prices, log });
  const ids = async (name = "vendor-b") =>
    (await catalogue.models(vendor(name))).map(({ id }) => id);
  const faultOf = async (name = "vendor-b") => {
    const thrown = await catalogue.models(vendor(name)).then(() => undefined, (one) => one);
    return thrown instanceof Fault ? thrown.code : thrown;
  };
  return { clock, upstream, learned, logged, catalogue, ids, faultOf };
}

const minute = 60_000;

Deno.test("the openai format: one page, entries as the vendor gave them", async () => {
  const { catalogue, upstream } = setup();
  const raw = { id: "gpt-5", object: "model", created: 1.9, owned_by: "openai" };
  upstream.answering = () => ({ object: "list", data: [raw, { id: "o9" }, { object: "x" }, 7] });
  const models = await catalogue.models(vendor("vendor-b"));
  assert.deepEqual(models, [
    { id: "gpt-5", displayName: undefined, created: 1, raw },
    { id: "o9", displayName: undefined, created: 0, raw: { id: "o9" } },
  ]);
  assert.deepEqual(upstream.paths, ["/models"]);
  assert.equal(upstream.requests[0]?.headers.authorization, "Bearer key-b");
});

Deno.test("the anthropic format: pages follow last_id while there is more", async () => {
  const { catalogue, upstream } = setup();
  const page = (id: string, has_more: boolean) => ({
    data: [{ id, display_name: `The ${id}`, created_at: "2026-01-02T03:04:05Z" }],
    has_more,
    first_id: id,
    last_id: id,
  });
  upstream.answering = ({ url }) =>
    url.includes("after_id=m%2F1") ? page("m2", false) : page("m/1", true);
  const models = await catalogue.models(vendor("vendor-c"));
  assert.deepEqual(models.map(({ id, displayName, created }) => [id, displayName, created]), [
    ["m/1", "The m/1", 1767323045],
    ["m2", "The m2", 1767323045],
  ]);
  assert.deepEqual(upstream.paths, ["/models?limit=1000", "/models?limit=1000&after_id=m%2F1"]);
  assert.equal(upstream.requests[0]?.headers["x-api-key"], "key-c");
  assert.equal(upstream.requests[1]?.headers["anthropic-version"], "2023-06-01");
});

Deno.test("the google format: pages follow nextPageToken, names lose 'models/'", async () => {
  const { catalogue, upstream } = setup();
  upstream.answering = ({ url }) =>
    url.includes("pageToken=t%20%2B1")
      ? { models: [{ name: "models/gemini-b" }] }
      : { models: [{ name: "models/gemini-a", displayName: "A" }], nextPageToken: "t +1" };
  const models = await catalogue.models(vendor("vendor-d"));
  assert.deepEqual(models.map(({ id, displayName }) => [id, displayName]), [
    ["gemini-a", "A"],
    ["gemini-b", "models/gemini-b"],
  ]);
  assert.deepEqual(upstream.paths, [
    "/models?pageSize=1000",
    "/models?pageSize=1000&pageToken=t%20%2B1",
  ]);
  assert.equal(upstream.requests[0]?.headers["x-goog-api-key"], "key-d");
});

Deno.test("a vendor whose pages never end is followed for twenty pages", async () => {
  const { upstream, ids } = setup();
  let page = 0;
  upstream.answering = () => ({ models: [{ name: `x${page++}` }], nextPageToken: "again" });
  assert.equal((await ids("vendor-d")).length, 20);
  assert.equal(upstream.requests.length, 20);
});

Deno.test("a model that a vendor lists twice is in the list once, where and as it came first", async () => {
  const { upstream, catalogue } = setup();
  const [one, two] = [{ id: "one", created: 1 }, { id: "two", created: 2 }];
  // Also over pages: after an id that comes twice a client would never reach the end.
  upstream.answering = ({ url }) =>
    url.includes("after_id")
      ? { data: [two, { ...one, created: 3 }], has_more: false }
      : { data: [one, two, one], has_more: true, last_id: "one" };
  const models = await catalogue.models(vendor("vendor-c"));
  assert.deepEqual(models.map(({ id, created }) => [id, created]), [["one", 1], ["two", 2]]);
});

Deno.test("a bare array is a list too", async () => {
  const { upstream, ids } = setup();
  upstream.answering = () => [{ id: "x" }];
  assert.deepEqual(await ids(), ["x"]);
});

Deno.test("callers that ask at the same time share one request, of each vendor", async () => {
  const { upstream, ids, catalogue } = setup();
  let answer = (_: unknown) => {};
  upstream.answering = () => new Promise((resolve) => answer = resolve);
  const asked = [ids(), ids(), catalogue.probe(vendor("vendor-b"))];
  await Promise.resolve();
  assert.equal(upstream.requests.length, 1);
  answer({ data: [{ id: "x" }] });
  assert.deepEqual(await Promise.all(asked.slice(0, 2)), [["x"], ["x"]]);
  upstream.answering = () => ({ data: [{ id: "y" }] });
  assert.deepEqual(await ids("vendor-a"), ["y"]);
  assert.equal(upstream.requests.length, 2);
});

Deno.test("a list is kept for five minutes, then read again", async () => {
  const { clock, upstream, ids } = setup();
  upstream.answering = () => ({ data: [{ id: "old" }] });
  await ids();
  upstream.answering = () => ({ data: [{ id: "new" }] });
  clock.advance(5 * minute);
  assert.deepEqual(await ids(), ["old"]);
  assert.equal(upstream.requests.length, 1);
  clock.advance(1);
  assert.deepEqual(await ids(), ["new"]);
  assert.equal(upstream.requests.length, 2);
});

const dead: [string, Answering][] = [
  ["refuses connections", () => Promise.reject(new Fault("upstream_unreachable"))],
  ["answers 500", () => new Raw(500, "{}")],
  ["answers with a web page", () => new Raw(200, "<html>")],
  ["answers an error inside a 200", () => ({ error: { message: "x" } })],
  ["answers another thing", () => ({ hello: "world" })],
  ["refuses the key", () => new Raw(401, "{}")],
  ["hangs", () => Promise.reject(new UpstreamAborted())],
  ["lists half a million values", () => list(empty(500_000))],
  ["lists as many over its pages", () => ({ ...list(empty(9_000, 4)), nextPageToken: "again" })],
  ["nests brackets", () => new Raw(200, `{"data":${"[".repeat(1e6)}${"]".repeat(1e6)}}`)],
  [
    "lists much text over its pages",
    () => ({ ...list("a".repeat(1_000_000)), nextPageToken: "again" }),
  ],
];

function list(field: unknown): { data: unknown[] } {
  return { data: [{ id: "bad", field }] };
}

function empty(count: number, each = 0): unknown[] {
  return Array.from({ length: count }, () => Array(each).fill([]));
}

for (const [name, answering] of dead) {
  Deno.test(`a vendor that ${name} keeps the list that was good once`, async () => {
    const { clock, upstream, ids, catalogue } = setup();
    upstream.answering = () => ({ data: [{ id: "good" }] });
    await ids();
    clock.advance(60 * minute);
    upstream.answering = answering;
    assert.deepEqual(await ids(), ["good"]);
    assert.ok((await catalogue.probe(vendor("vendor-b"))).fault);
  });
}

Deno.test("a second page that fails loses nothing of the list that was good", async () => {
  const { clock, upstream, ids } = setup();
  upstream.answering = () => ({ models: [{ name: "a" }, { name: "b" }] });
  await ids("vendor-d");
  clock.advance(6 * minute);
  upstream.answering = ({ url }) =>
    url.includes("pageToken") ? new Raw(503, "") : { models: [{ name: "a" }], nextPageToken: "2" };
  assert.deepEqual(await ids("vendor-d"), ["a", "b"]);
});

const faults: [string, Answering, string][] = [
  [
    "refused connections",
    () => Promise.reject(new Fault("upstream_unreachable")),
    "upstream_unreachable",
  ],
  ["a refused key", () => new Raw(403, ""), "upstream_authentication_failed"],
  ["a 500", () => new Raw(500, ""), "upstream_error"],
  ["a web page", () => new Raw(200, "<html>"), "upstream_invalid_response"],
  ["an empty body", () => new Raw(200, ""), "upstream_invalid_response"],
  ["a number", () => new Raw(200, "7"), "upstream_invalid_response"],
  ["no list at all", () => ({ error: "x" }), "upstream_invalid_response"],
  ["our own time-out", () => Promise.reject(new UpstreamAborted()), "upstream_timeout"],
];
for (const [name, answering, code] of faults) {
  Deno.test(`with nothing remembered, ${name} is ${code}`, async () => {
    const { upstream, faultOf } = setup();
    upstream.answering = answering;
    assert.equal(await faultOf(), code);
  });
}

Deno.test("a vendor without a key is not asked: vendor_not_configured", async () => {
  const { upstream, faultOf } = setup();
  assert.equal(await faultOf("vendor-g"), "vendor_not_configured");
  assert.equal(upstream.requests.length, 0);
});

Deno.test("a dead vendor is asked at most once in ten seconds, however many ask", async () => {
  const { clock, upstream, faultOf, catalogue } = setup();
  upstream.answering = () => Promise.reject(new Fault("upstream_unreachable"));
  for (let second = 0; second < 60; second++) {
    await Promise.all([faultOf(), faultOf(), catalogue.probe(vendor("vendor-b"))]);
    clock.advance(1000);
  }
  assert.equal(upstream.requests.length, 6);
});

Deno.test("a vendor that hangs until the time-out is let alone for ten seconds too", async () => {
  const { clock, upstream, faultOf } = setup();
  upstream.answering = () => {
    clock.advance(15_000);
    return Promise.reject(new UpstreamAborted());
  };
  for (let call = 0; call < 5; call++) await faultOf();
  assert.equal(upstream.requests.length, 1);
});

Deno.test("a vendor that is back is asked again and its list taken", async () => {
  const { clock, upstream, ids, faultOf } = setup();
  upstream.answering = () => new Raw(503, "");
  assert.equal(await faultOf(), "upstream_error");
  upstream.answering = () => ({ data: [{ id: "back" }] });
  assert.equal(await faultOf(), "upstream_error");
  clock.advance(10_000);
  assert.deepEqual(await ids(), ["back"]);
});

Deno.test("a probe asks now, but no oftener than every ten seconds, and says how it went", async () => {
  const { clock, upstream, catalogue } = setup();
  upstream.answering = () => {
    clock.advance(40);
    return { data: [{ id: "x" }] };
  };
  const startedAt = clock.now();
  const first = await catalogue.probe(vendor("vendor-b"));
  assert.deepEqual(first, { checkedAt: startedAt, latencyMs: 40, fault: undefined });
  clock.advance(9_999);
  assert.equal(await catalogue.probe(vendor("vendor-b")), first);
  clock.advance(1);
  await catalogue.probe(vendor("vendor-b"));
  assert.equal(upstream.requests.length, 2);
});

Deno.test("prices in a vendor's list are learned, from vendors that give them there alone", async () => {
  const { learned, upstream, ids } = setup();
  const pricing = { prompt: "0.000001", completion: "0.000002" };
  upstream.answering = () => ({ data: [{ id: "m/x", pricing }] });
  await ids("vendor-f");
  assert.deepEqual(learned.map(([label, rows]) => [label, rows.map(({ model }) => model)]), [
    ["vendor-f", ["m/x"]],
  ]);
  await ids("vendor-b");
  assert.equal(learned.length, 1);
});

Deno.test("a price list that can't be read is logged once for all who ask", async () => {
  const { logged, upstream, faultOf, clock } = setup();
  upstream.answering = () => new Raw(500, "");
  await Promise.all([faultOf("vendor-f"), faultOf("vendor-f"), faultOf("vendor-b")]);
  await faultOf("vendor-f");
  const reason = "vendor-f answered its model list with status 500.";
  const line = ["a vendor's price list could not be read", { vendor: "vendor-f", reason }];
  assert.deepEqual(logged, [line]);
  clock.advance(10_000);
  await faultOf("vendor-f");
  assert.deepEqual(logged, [line, line]);
});

Deno.test("no error says the vendor's address or key", async () => {
  const { upstream, catalogue } = setup();
  upstream.answering = () => new Raw(418, "key-b at http://b.example");
  const { fault } = await catalogue.probe(vendor("vendor-b"));
  assert.doesNotMatch(`${fault?.message} ${fault?.note}`, /key-b|example/);
});
