import { flatMapInSteps } from "../base/steps.ts";
import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import { createReservations } from "../credit/reservations.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import { createPrices } from "../pricing/table/prices.ts";
import { Fault } from "../shared/fault.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { createRealModels } from "../routing/real_models.ts";
import { createRouteTable } from "../routing/route.ts";
import { TargetHealth } from "../routing/target_health.ts";
import { resolveUnified } from "../vendors/model_name.ts";
import { KeyPool } from "../vendors/key_pool.ts";
import { createRegistry } from "../vendors/registry.ts";
import type { BodyHandlers, UpstreamBody } from "../vendors/upstream.ts";
import { Line, MemoryLedger } from "../../tests/support/memory_ledger.ts";
import { VendorCallContext } from "./vendor_call.ts";
import type { Call } from "./call.ts";
import { Meter } from "./meter.ts";
import { OpenStreams } from "./open_streams.ts";
import { BackgroundTask } from "./background_task.ts";
import {
  type Authorization,
  type CallAnswer,
  type CallPlan,
  eachPossible,
  lastFailure,
  requireAuthorization,
  runCall,
} from "./pipeline.ts";
import type { StreamListener } from "./stream_forwarder.ts";
import { SettlingSteps } from "./settling_steps.ts";
import { jobCaller } from "./call_context.ts";

const balanceNanos = 1_000_000_000n;
/** 1 USD per million tokens each way. */
const price: Omit<PriceRow, "label" | "model"> = {
  rates: { input: 1_000_000n, output: 1_000_000n },
  contextTiers: [],
  serviceTiers: {},
  version: "v",
  source: "test",
};

/** What a candidate does when it is asked. */
interface Script {
  model: string;
  boundNanos: bigint | null;
  execute(call: Call, isLast: boolean): Promise<CallAnswer>;
}

const registry = createRegistry({
  "vendor-b": { apiKey: new Secret("a-key-of-b") },
  "vendor-c": { apiKey: new Secret("a-key-of-c") },
}, []);
const targetOf = (name: string) => resolveUnified(registry, name);
const routes = createRouteTable({
  models: createRealModels({ registry, prices: { rows: () => [] } }),
  virtual: [],
});
const log = { info() {}, warn() {}, error() {} };

/** Real credit of an account with `balanceNanos`; notes what is held and settled of it. */
async function creditOf(clock: FakeClock) {
  const ledger = new MemoryLedger(clock);
  const line = new Line(ledger);
  await ledger.grant(1, balanceNanos);
  const credit = createReservations({
    ...{ ledger: line.ledger, clock, log, newId: () => crypto.randomUUID() },
    ...{ processId: "process-1", leaseSeconds: 150, shared: false },
  });
  const held: bigint[] = [];
  const settled: bigint[] = [];
  const reserve = async (accountId: number, nanos: bigint) => {
    held.push(nanos);
    const { leaseId, settle } = await credit.reserve(accountId, nanos);
    return {
      leaseId,
      settle(charged: bigint) {
        settled.push(charged);
        settle(charged);
      },
    };
  };
  return { reservations: { reserve } as never, held, settled, quiet: () => line.quiet() };
}

function depsOf(clock: FakeClock, scripts: readonly Script[]) {
  const rows: SettledCall[] = [];
  const bundled = scripts.map((script): PriceRow => {
    const { vendor, model } = targetOf(script.model);
    return { ...price, label: vendor.label, model };
  });
  return {
    rows,
    ...{ clock, log, routes, payloadMaxBytes: 1000, mediaInlineBytes: 1000 },
    prices: createPrices({ bundled, familyOf: (label) => ({ label }) }),
    recorder: { admit() {}, record: (row: SettledCall) => void rows.push(row) } as never,
    journal: { begin() {}, end: () => Promise.resolve() },
    storedResponses: { remember() {} } as never,
    streams: new OpenStreams({ perAccount: 10, unreadMs: 60_000 }),
    settling: new SettlingSteps({ log }),
    spendCaps: { reserve: () => Promise.resolve({ leaseIds: [], settle() {} }) },
    budgetHolds: { reserve: () => Promise.resolve({ leaseIds: [], settle() {} }) },
    storedKeys: { find: (): Promise<Secret | undefined> => Promise.resolve(undefined) },
    catalogue: { models: () => Promise.resolve([]) } as never,
    ...({} as Record<"responseCache" | "readAhead" | "copies", never>),
    newTransactionId: () => "a-call",
    keyPools: { of: () => undefined },
    targetHealth: new TargetHealth(clock),
  };
}

function planOf(
  scripts: readonly Script[],
  clock: FakeClock,
  vendorCall: VendorCallContext,
): CallPlan<Meter> {
  const script = scripts.find(({ model }) => targetOf(model).id === vendorCall.target.id)!;
  return {
    vendorCall,
    recorded: {
      dialect: { name: "chat", mediaFields: [] },
      facts: { model: scripts[0]!.model, stream: true, tags: {} } as never,
      plan: {
        losses: [`lost by ${script.model}`],
        encodeFolded: ({ choices }) => flatMapInSteps(choices, (c) => c.parts.map((p) => p.text)),
      },
      bodyText: "{}",
    },
    meter: new Meter(1000, () => clock.monotonicMs()),
    boundNanos: script.boundNanos,
    execute: (call, isLast) => script.execute(call, isLast),
  };
}

/** Runs one call through the pipeline and gives what became of it. */
async function run(
  scripts: [Script, ...Script[]],
  stop = new AbortController(),
  replaced: Partial<ReturnType<typeof depsOf>> = {},
  authorization?: Authorization,
) {
  const clock = new FakeClock();
  const { reservations, quiet, ...credit } = await creditOf(clock);
  const deps = { ...depsOf(clock, scripts), reservations, ...replaced };
  const caller = jobCaller({ clock, heavy: {} as never }, {
    principal: { account: { id: 1, tier: "pro" }, key: keyOfAll } as never,
    ...{ endpoint: "/chat", requestId: "a-request", sessionId: null, userId: null },
    signal: stop.signal,
  });
  const [first, ...others] = scripts;
  const background = authorization && { task: backgroundTask(), authorization };
  const reply = await runCall<Meter>(deps, {
    ...{ caller, background },
    read: () => ({
      targets: [targetOf(first.model), ...others.map(({ model }) => targetOf(model))],
      plan: (vendorCalls) => eachPossible(vendorCalls, (one) => planOf(scripts, clock, one)),
    }),
  }).catch((thrown: Error) => thrown);
  const text = reply instanceof Error
    ? undefined
    : await new Response(reply.body as BodyInit | null).text().catch(() => "broken off");
  await quiet();
  return { reply, text, rows: deps.rows, ...credit, streams: deps.streams.count };
}

function backgroundTask(): BackgroundTask {
  const form = { stateOf: () => "completed", moved: () => "{}" } as never;
  const ids = { transactionId: "a-call", responseId: "a-response" };
  return new BackgroundTask({ form, ...ids, queuedText: "{}" });
}

const keyOfAll = { id: "a-key", models: [], scopes: [], onDisconnect: "cancel" };

/** So many tokens in and out, and these words. */
function answered(call: Call, text: string, tokens: number): void {
  call.meter.listen([
    { type: "start", id: "c", model: "m", created: 1 },
    { type: "block-start", choice: 0, block: 0, content: { kind: "text" } },
    { type: "block-delta", choice: 0, block: 0, text },
    { type: "usage", usage: { input: tokens, output: tokens } },
    { type: "finish", choice: 0, reason: "stop", raw: "stop" },
  ]);
}

function whole(text: string, tokens: number): Script["execute"] {
  return (call) => {
    answered(call, text, tokens);
    return Promise.resolve({ status: 200, headers: {}, body: text, recordText: `"${text}"` });
  };
}

/** A vendor's body of these pieces; `failure` breaks it off. */
function bodyOf(pieces: readonly string[], failure?: Fault): UpstreamBody {
  return {
    onData(to: BodyHandlers) {
      queueMicrotask(() => {
        for (const piece of pieces) to.data(new TextEncoder().encode(piece));
        if (failure) to.error(failure);
        else to.end();
      });
    },
    readAll: () => Promise.reject(new Error("not read whole")),
    ...{ pause() {}, resume() {}, destroy() {} },
  };
}

function streamed(pieces: readonly string[], tokens: number, failure?: Fault): Script["execute"] {
  return (call) => {
    const listener: StreamListener = {
      take(piece, output) {
        answered(call, new TextDecoder().decode(piece), tokens);
        output.begin();
        output.send(piece);
      },
      end: () => undefined,
      fail: ({ code }) => new TextEncoder().encode(` ${code}`),
      settle: () => ({}),
    };
    return Promise.resolve({ status: 200, headers: {}, body: bodyOf(pieces, failure), listener });
  };
}

function failing(code: Fault["code"], asked: boolean[] = []): Script["execute"] {
  return (_call, isLast) => {
    asked.push(isLast);
    return Promise.reject(new Fault(code));
  };
}

const overload = new Fault("upstream_overloaded");
const first = { model: "vendor-b/one", boundNanos: 40_000n };
const second = { model: "vendor-c/two", boundNanos: 90_000n };

const answers: Record<string, [Script["execute"], Script["execute"]]> = {
  "refuses, the next one answers whole": [failing("upstream_overloaded"), whole("two", 20)],
  "refuses, the next one streams": [failing("upstream_rate_limited"), streamed(["two"], 20)],
  "streams nothing before it breaks": [streamed([], 5, overload), streamed(["two"], 20)],
  "was metered, and can't be given": [
    (call) => {
      answered(call, "half", 1000);
      call.answered();
      return Promise.reject(new Fault("upstream_invalid_response"));
    },
    whole("two", 20),
  ],
};

for (const [what, [one, two]] of Object.entries(answers)) {
  Deno.test(`the first of two candidates ${what}: one row, one charge, credit back`, async () => {
    const { text, rows, held, settled, streams } = await run([
      { ...first, execute: one },
      { ...second, execute: two },
    ]);
    assert.equal(text, "two");
    assert.deepEqual(held, [90_000n], "held once, for the dearest");
    assert.deepEqual(settled, [40_000n], "what the second one cost: the rest is free again");
    assert.equal(streams, 0);
    const [row, ...others] = rows;
    assert.equal(others.length, 0);
    const { vendor, model, requestedModel, status, chargedNanos, translationLoss } = row!;
    assert.deepEqual({ vendor, model, requestedModel, status, chargedNanos, translationLoss }, {
      ...{ vendor: "vendor-c", model: "two", requestedModel: "vendor-b/one" },
      ...{ status: "completed", chargedNanos: 40_000n, translationLoss: ["lost by vendor-c/two"] },
    });
    assert.match(row!.responseText!, /two/);
    assert.doesNotMatch(row!.responseText!, /half/);
  });
}

for (
  const [what, before, meanwhile, charged] of [
    ["is dropped from its vendor's list", [1n], [], 40_000n],
    ["gets another price in its vendor's list", [1n], [9n], 40_000n],
    ["gets its first real price", [], [2n], 80_000n],
  ] as const
) {
  Deno.test(`a call whose model ${what} meanwhile costs what is known of its time`, async () => {
    const { vendor, model } = targetOf(first.model);
    const row = (usd: bigint, more: Partial<PriceRow> = {}): PriceRow => ({
      ...{ ...price, label: vendor.label, model, version: `${usd}`, ...more },
      rates: { input: usd * 1_000_000n, output: usd * 1_000_000n },
    });
    const prices = createPrices({
      bundled: before.length > 0 ? [] : [row(5n, { fallback: true })],
      familyOf: (label) => ({ label }),
    });
    prices.learn(vendor.label, before.map((usd) => row(usd)));
    const execute: Script["execute"] = (...asked) => {
      prices.learn(vendor.label, meanwhile.map((usd) => row(usd)));
      return whole("one", 20)(...asked);
    };
    const { rows: [made], settled } = await run([{ ...first, execute }], undefined, { prices });
    const [usd] = [...before, ...meanwhile];
    assert.deepEqual([settled, made!.costNanos, made!.priceVersion], [
      [charged],
      charged,
      `${usd}`,
    ]);
  });
}

Deno.test("what the last error says about retries doesn't hold if another model may answer one", async () => {
  const isOneOfSeveral = async (...codes: [Fault["code"], ...Fault["code"][]]) => {
    const [one, ...others] = codes.map((code, at) => (
      { ...[first, second][at]!, execute: () => Promise.reject(new Fault(code)) }
    ));
    const { code, isOneOfSeveral } = (await run([one!, ...others])).reply as Fault;
    return [code, isOneOfSeveral];
  };
  const [limited, refused] = ["upstream_rate_limited", "upstream_authentication_failed"] as const;
  assert.deepEqual(await isOneOfSeveral(limited), [limited, false]);
  assert.deepEqual(await isOneOfSeveral("invalid_request", limited), ["invalid_request", false]);
  assert.deepEqual(await isOneOfSeveral(limited, "invalid_request"), ["invalid_request", false]);
  assert.deepEqual(await isOneOfSeveral(limited, limited), [limited, true]);
  assert.deepEqual(await isOneOfSeveral(limited, refused), [refused, true]);
  assert.deepEqual(await isOneOfSeveral(refused, limited), [limited, true]);
  // A retry fails at both.
  assert.deepEqual(await isOneOfSeveral(refused, refused), [refused, false]);
  // The last one's error is its stream's first event.
  const { reply } = await run([
    { ...first, execute: failing(limited) },
    { ...second, execute: streamed([], 5, new Fault(refused)) },
  ]);
  const { code, isOneOfSeveral: isMarked } = reply as Fault;
  assert.deepEqual([code, isMarked], [refused, true]);
});

Deno.test("a model that wasn't asked may answer a retry, too", () => {
  const refused = new Fault("upstream_quota_exhausted");
  assert.equal((lastFailure([refused], false) as Fault).isOneOfSeveral, false);
  assert.equal((lastFailure([refused], true) as Fault).isOneOfSeveral, true);
});

Deno.test("a stream's first event about one of several keys is a rate limit, as a whole answer's is", async () => {
  const pool = new KeyPool("vendor-b", [new Secret("k1"), new Secret("k2")], {
    clock: new FakeClock(),
    log,
  });
  const replaced = { keyPools: { of: () => pool } } as never;
  const quota = "upstream_quota_exhausted";
  for (const execute of [failing(quota), streamed([], 5, new Fault(quota))]) {
    const { reply, rows } = await run([{ ...first, execute }], undefined, replaced);
    assert.equal((reply as Fault).code, "upstream_rate_limited");
    assert.deepEqual(rows.map(({ errorCode }) => errorCode), ["upstream_rate_limited"]);
  }
});

Deno.test("a stream that fails after its first byte is not asked of the next candidate", async () => {
  let asked = 0;
  const { text, rows, settled } = await run([
    { ...first, execute: streamed(["one"], 10, overload) },
    {
      ...second,
      execute: (call, isLast) => {
        asked++;
        return whole("two", 20)(call, isLast);
      },
    },
  ]);
  assert.equal(text, "one upstream_overloaded");
  assert.equal(asked, 0);
  assert.deepEqual(rows.map(({ vendor, status }) => [vendor, status]), [["vendor-b", "failed"]]);
  assert.deepEqual(settled, [20_000n]);
});

Deno.test("comments that come before the first event go out with it", async () => {
  const { text } = await run([{
    ...first,
    execute: () => {
      const listener: StreamListener = {
        take(piece, output) {
          if (!new TextDecoder().decode(piece).startsWith(":")) output.begin();
          output.send(piece);
        },
        end: () => undefined,
        fail: () => undefined,
        settle: () => ({}),
      };
      const body = bodyOf([": one ", ": two ", "event"]);
      return Promise.resolve({ status: 200, headers: {}, body, listener });
    },
  }]);
  assert.equal(text, ": one : two event");
});

Deno.test("a call that the journal does not take asks no vendor and holds nothing", async () => {
  const asked: boolean[] = [];
  const begun = Promise.withResolvers<void>();
  const ended = run(
    [{ ...first, execute: failing("upstream_overloaded", asked) }],
    undefined,
    { journal: { begin: () => begun.promise, end: () => Promise.resolve() } },
  );
  // Nor does it while the beginning is written.
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  begun.reject(new Fault("overloaded"));
  const { reply, rows, settled, streams } = await ended;
  assert.equal((reply as Fault).code, "overloaded");
  assert.deepEqual([asked, rows, settled, streams], [[], [], [0n], 0]);
});

Deno.test("a target is noted as asked, and as answering or failing only where that has shown", async () => {
  const noted = async (one: Script["execute"], stop = new AbortController()) => {
    const notes: string[] = [];
    const note = (what: string) => () => void notes.push(what);
    const [asked, answered, released] = [note("asked"), note("answered"), note("released")];
    const [failed, passed, isCooling] = [note("failed"), note("passed"), () => false];
    const targetHealth = { asked, answered, released, failed, passed, isCooling } as never;
    const scripts = [{ ...first, execute: one }, { ...second, execute: whole("two", 1) }] as const;
    await run([...scripts], stop, { targetHealth });
    return notes.join();
  };
  assert.equal(await noted(whole("one", 1)), "asked,answered");
  assert.equal(await noted(failing("invalid_request")), "asked,answered");
  assert.equal(await noted(failing("upstream_error")), "asked,failed,passed,asked,answered");
  assert.equal(await noted(failing("vendor_quota_exhausted")), "asked,released");
  assert.equal(await noted(() => Promise.reject(new Error("a bug"))), "asked,released");
  const stop = new AbortController();
  const left = () => (stop.abort(), Promise.reject(new Fault("upstream_error")));
  assert.equal(await noted(left, stop), "asked,released");
});

Deno.test("what is held is released only once the journal has the call's end", async () => {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const journal = { begin() {}, end: () => (asked.resolve(), gate.promise) };
  const settled: bigint[] = [];
  const settle = (chargedNanos: bigint) => void settled.push(chargedNanos);
  const held = { leaseId: "lease", heldNanos: 40_000n, settle };
  const ended = run([{ ...first, execute: whole("one", 10) }], undefined, { journal }, held);
  await asked.promise;
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  assert.deepEqual(settled, []);
  gate.resolve();
  await ended;
  assert.deepEqual(settled, [20_000n]);
});

Deno.test("the limit of an account's own vendor key cools no target for others", async () => {
  const targetHealth = new TargetHealth(new FakeClock());
  const limited = async (replaced: Parameters<typeof run>[2]) => {
    for (let times = 0; times < 5; times++) {
      await run([{ ...first, execute: failing("upstream_rate_limited") }], undefined, {
        targetHealth,
        ...replaced,
      });
    }
    return targetHealth.isCooling(targetOf(first.model));
  };
  assert.equal(
    await limited({ storedKeys: { find: () => Promise.resolve(new Secret("their own")) } }),
    false,
  );
  assert.equal(await limited({}), true);
});

const heldBefore: [string, bigint, { held: bigint[]; settledBefore: bigint }][] = [
  ["enough: nothing more is held", 40_000n, { held: [], settledBefore: 20_000n }],
  ["less than it can cost now: it is held again", 39_999n, { held: [40_000n], settledBefore: 0n }],
];
for (const [what, heldNanos, { held, settledBefore }] of heldBefore) {
  Deno.test(`what is held for a background call since it was taken in is ${what}`, async () => {
    const settled: bigint[] = [];
    const settle = (chargedNanos: bigint) => void settled.push(chargedNanos);
    const ended = await run([{ ...first, execute: whole("one", 10) }], undefined, {}, {
      ...{ leaseId: "lease-of-then", heldNanos, settle },
    });
    assert.deepEqual(ended.held, held);
    assert.deepEqual(settled, [settledBefore]);
    assert.equal(ended.rows[0]!.leaseId === "lease-of-then", held.length === 0);
  });
}

Deno.test("a failure that is the request's own ends the call at the first candidate", async () => {
  const asked: boolean[] = [];
  const { reply, rows, settled } = await run([
    { ...first, execute: failing("context_length_exceeded", asked) },
    { ...second, execute: failing("upstream_error", asked) },
  ]);
  assert.equal((reply as Fault).code, "context_length_exceeded");
  assert.deepEqual(asked, [false]);
  assert.deepEqual(rows.map(({ vendor }) => vendor), ["vendor-b"]);
  assert.deepEqual(settled, [0n]);
});

Deno.test("where all candidates fail the caller gets the last failure, and nothing is charged", async () => {
  const asked: boolean[] = [];
  const { reply, rows, settled } = await run([
    { ...first, execute: failing("upstream_timeout", asked) },
    { ...second, execute: failing("upstream_error", asked) },
  ]);
  assert.equal((reply as Fault).code, "upstream_error");
  // Only who is last is asked again after a failure.
  assert.deepEqual(asked, [false, true]);
  assert.deepEqual(rows.map(({ vendor, errorCode }) => [vendor, errorCode]), [
    ["vendor-c", "upstream_error"],
  ]);
  assert.deepEqual(settled, [0n]);
});

Deno.test("a caller who leaves ends the call: no other candidate is asked", async () => {
  const stop = new AbortController();
  const asked: boolean[] = [];
  const { reply, rows } = await run([
    {
      ...first,
      execute: () => {
        stop.abort();
        return Promise.reject(new Fault("upstream_unreachable"));
      },
    },
    { ...second, execute: failing("upstream_error", asked) },
  ], stop);
  assert.equal((reply as { status: number }).status, 499);
  assert.deepEqual(asked, []);
  assert.deepEqual(rows.map(({ vendor, status }) => [vendor, status]), [["vendor-b", "cancelled"]]);
});

Deno.test("candidates that refuse the request are left out; where all do, the first one's refusal holds", async () => {
  const refuse = (item: string) => {
    if (item !== "c") throw new Fault("invalid_value", { message: item });
    return item;
  };
  assert.deepEqual(await eachPossible(["a", "b", "c"], refuse), ["c"]);
  await assert.rejects(eachPossible(["a", "b"], refuse), { message: "a" });
});

Deno.test("what is held is for the dearest candidate, wherever it stands, also beside one that isn't charged", async () => {
  for (const [one, two] of [[90n, 40n], [40n, 90n], [90n, null], [null, 90n], [null, null]]) {
    const { text, held } = await run([
      { ...first, boundNanos: one ?? null, execute: whole("one", 0) },
      { ...second, boundNanos: two ?? null, execute: whole("two", 0) },
    ]);
    assert.equal(text, "one");
    assert.deepEqual(held, one === two ? [] : [90n]);
  }
});

/** Authorizes a call; returns what was held, in order, and how often it was settled with nothing. */
async function authorized(
  call: { app?: string; endUser?: string; userId?: string; keysApp?: string },
  refusedBy?: string,
) {
  const held: [string, ...unknown[]][] = [];
  let settled = 0;
  const hold = (by: string, ...what: unknown[]) => {
    if (by === refusedBy) return Promise.reject(new Fault("insufficient_credits"));
    held.push([by, ...what]);
    return Promise.resolve({
      leaseIds: [],
      settle: (nanos: bigint) => void (settled += Number(nanos === 0n)),
    });
  };
  const under = (by: string) => (of: unknown, { upperBoundNanos }: { upperBoundNanos: bigint }) =>
    hold(by, upperBoundNanos, of);
  const deps = {
    spendCaps: { reserve: under("cap") },
    budgetHolds: { reserve: under("budget") },
    reservations: { reserve: (id: number, nanos: bigint) => hold("credit", nanos, id) },
  };
  const defaults = call.keysApp === undefined ? undefined : { app: call.keysApp };
  const principal = { key: { ...keyOfAll, defaults }, account: { id: 7 } };
  const { app, endUser, userId } = call;
  const result = await requireAuthorization(deps as never, {
    vendorCall: { caller: { principal, userId, arrivedAt: new Date(0) }, transactionId: "t" },
    recorded: { facts: { tags: { app }, endUser } },
    ...{ boundNanos: 5n, expectedNanos: 3n },
  } as never).catch((thrown: Fault) => thrown);
  return { held, settled, result };
}

Deno.test("a call's budgets are those of its app and end user, else of its key's app", async () => {
  const none = { app: null, userId: null };
  const cases: [Parameters<typeof authorized>[0], object][] = [
    [{}, none],
    [{ app: "shop", keysApp: "agent" }, { app: "shop", userId: null }],
    [{ keysApp: "agent" }, { app: "agent", userId: null }],
    [{ endUser: "ann" }, { app: null, userId: "ann" }],
    [{ endUser: "ann", userId: "bob" }, { app: null, userId: "bob" }],
  ];
  for (const [call, of] of cases) {
    const { held, settled, result } = await authorized(call);
    assert.equal(result, undefined);
    // Only credit may hold less than the bound.
    const [cap, ...others] = held;
    assert.deepEqual(cap!.slice(0, 2), ["cap", 5n]);
    assert.deepEqual(others, [["budget", 5n, { accountId: 7, ...of }], ["credit", 3n, 7]]);
    assert.equal(settled, 3);
  }
});

Deno.test("what refuses a call leaves nothing held elsewhere", async () => {
  for (const [at, refusedBy] of ["cap", "budget", "credit"].entries()) {
    const { held, settled, result } = await authorized({}, refusedBy);
    assert.ok(result instanceof Fault);
    assert.deepEqual([held.length, settled], [at, at], refusedBy);
  }
});
