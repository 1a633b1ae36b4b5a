import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import { Fault } from "../shared/fault.ts";
import type { Mode, VendorAttempt } from "../shared/interaction.ts";
import { KeyPool } from "../vendors/key_pool.ts";
import { resolveUnified } from "../vendors/model_name.ts";
import { createRegistry } from "../vendors/registry.ts";
import type { UpstreamAnswer, UpstreamRequest } from "../vendors/upstream.ts";
import { UpstreamAborted } from "../vendors/upstream_failure.ts";
import { jobCaller } from "./call_context.ts";
import { budgetOf, postToVendor, readRefusal, refusalFault, VendorAccess } from "./vendor_call.ts";

const log = { info() {}, warn() {}, error() {} };
const registry = createRegistry({ "vendor-b": { apiKey: new Secret("an-old-key") } }, []);
const sentHeaders: Record<string, string> = { "openai-organization": "theirs" };
const request = {
  ...{ path: "/chat/completions", contentType: "application/json", body: "{}" },
  sameDialect: true,
};

function answer(status: number, text = "{}"): UpstreamAnswer {
  let isRead = false;
  const readAll = () => {
    assert.equal(isRead, false, "a body is read once");
    isRead = true;
    return Promise.resolve(new TextEncoder().encode(text));
  };
  const body = { readAll, onData() {}, pause() {}, resume() {}, destroy() {} };
  return { status, headers: {}, attempts: 1, attemptLog: [], body };
}

interface Setting {
  keys?: string[];
  left?: number;
  onDisconnect?: string;
  mode?: Mode;
}

/** A vendor that answers with these statuses, or fails so, and a call that may ask it `left` times. */
function setUp(
  outcomes: (number | Error)[],
  { keys = ["k1"], left = 5, onDisconnect = "cancel", mode = "managed" }: Setting = {},
) {
  const clock = new FakeClock();
  const caller = new AbortController();
  const asked: UpstreamRequest[] = [];
  const attempts: VendorAttempt[] = [];
  const upstream = {
    call(sent: UpstreamRequest) {
      asked.push(sent);
      const outcome = outcomes.shift()!;
      if (typeof outcome !== "number") {
        if (outcome instanceof UpstreamAborted) sent.onTry?.({ aborted: true, ms: 1 });
        return Promise.reject(outcome);
      }
      sent.onTry?.({ status: outcome, ms: 1 });
      return Promise.resolve(answer(outcome));
    },
    close() {},
  };
  const context = jobCaller({ clock, heavy: {} as never }, {
    principal: { account: { id: 1 }, key: { onDisconnect } } as never,
    ...{ endpoint: "/chat", requestId: "a-request", sessionId: null, userId: null },
    signal: caller.signal,
  });
  const target = resolveUnified(registry, "vendor-b/one");
  const secrets = keys.map((key) => new Secret(key));
  const access = new VendorAccess({
    caller: {
      ...{ ...context, silenceMs: 7_000 },
      principal: { account: { id: 1 }, key: { onDisconnect } } as never,
      header: (name) => sentHeaders[name],
      headerNames: () => Object.keys(sentHeaders),
    },
    target: { ...target, vendor: { ...target.vendor, apiKeys: secrets } },
    key: secrets[0]!,
    keyPool: keys.length > 1 ? new KeyPool("vendor-b", secrets, { clock, log }) : undefined,
    mode,
  });
  const budget = {
    get left() {
      return left - attempts.length;
    },
    attempted: (attempt: VendorAttempt) => void attempts.push(attempt),
  };
  const post = () => postToVendor({ upstream, log, clock }, access, request, budget);
  const sentKeys = () => asked.map(({ headers }) => headers.authorization?.split(" ").at(-1));
  return { asked, attempts, caller, access, post, sentKeys };
}

Deno.test("a candidate that is not the last leaves one request for the next one", () => {
  const call = { requestsLeft: 3, attempted() {} };
  assert.deepEqual([budgetOf(call, true).left, budgetOf(call, false).left], [3, 2]);
});

Deno.test("a request is tried no more often than the call may ask, and once at least", async () => {
  for (const [left, maxTries] of [[3, 3], [0, 1]] as const) {
    const { asked, post } = setUp([200], { left });
    await post();
    assert.equal(asked[0]!.maxTries, maxTries);
  }
});

Deno.test("only the caller of a key that cancels takes its vendor request with it", async () => {
  for (const onDisconnect of ["cancel", "drain"]) {
    const { asked, caller, post } = setUp([200], { onDisconnect });
    await post();
    caller.abort();
    assert.equal(asked[0]!.signal.aborted, onDisconnect === "cancel");
  }
});

Deno.test("the next key is tried where one is limited, while the call may still ask", async () => {
  const two = setUp([429, 200], { keys: ["k1", "k2"] });
  assert.equal((await two.post()).key?.name, "#2");
  assert.deepEqual(two.sentKeys(), ["k1", "k2"]);
  // A 429 is waited for only where no other key is left.
  assert.deepEqual(two.asked.map(({ retryLimited }) => retryLimited), [false, true]);
  assert.equal(two.access.answeringKey?.name, "#2");
  assert.deepEqual(two.attempts.map((one) => one.http_status), [429, 200]);

  const last = setUp([429], { keys: ["k1", "k2"], left: 1 });
  assert.equal((await last.post()).status, 429);
  assert.deepEqual([last.sentKeys(), last.asked[0]!.retryLimited], [["k1"], true]);
});

Deno.test("a key that answered well once is not to blame for what another request is refused", async () => {
  const { access, post } = setUp([200, 500], { keys: ["k1", "k2"] });
  await post();
  assert.equal(access.answeringKey?.name, "#1");
  await post();
  assert.equal(access.answeringKey, undefined);
});

Deno.test("an answer about its key pauses that key once", async () => {
  const { access, post } = setUp([200], { keys: ["k1", "k2"] });
  await post();
  const limit = new Fault("upstream_rate_limited");
  assert.deepEqual([access.restAnsweringKey(limit), access.restAnsweringKey(limit)], [true, false]);
});

Deno.test("no key of the service stands in what a vendor says about one of them", () => {
  const keys = ["the-first-of-ours", "the-second-of-ours"];
  const { access } = setUp([], { keys });
  for (const key of keys) {
    const absent = { code: undefined, type: undefined, param: undefined };
    const { message } = access.fault({
      ...{ ...absent, retryAfterSeconds: undefined },
      ...{ status: 400, message: `Wrong model for ${key}.` },
    });
    assert.match(message, /Wrong model/);
    assert.doesNotMatch(message, /of-ours/);
  }
});

Deno.test("a request without an answer is an attempt", async () => {
  const { attempts, post } = setUp([new Fault("upstream_timeout")]);
  await assert.rejects(post(), { code: "upstream_timeout" });
  assert.deepEqual(attempts.map(({ error_code }) => error_code), ["upstream_timeout"]);
});

Deno.test("a vendor request that its caller left is one attempt without a status", async () => {
  const { attempts, post } = setUp([new UpstreamAborted()]);
  await assert.rejects(post(), UpstreamAborted);
  assert.deepEqual(attempts.map((one) => [one.http_status, one.error_code]), [[null, null]]);
});

Deno.test("headers that belong to a vendor key go with the caller's own alone", async () => {
  for (const mode of ["managed", "stored_key"] as const) {
    const { asked, post } = setUp([200], { mode });
    await post();
    const { headers, silenceMs } = asked[0]!;
    assert.equal(headers["openai-organization"], mode === "managed" ? undefined : "theirs");
    assert.equal(silenceMs, 7_000);
  }
});

Deno.test("the last key's refusal can still be read", async () => {
  const { post } = setUp([401, 401], { keys: ["k1", "k2"] });
  assert.equal((await readRefusal(await post())).text, "{}");
});

Deno.test("a paused key by which an answer came is taken in turn again", async () => {
  const { access, post } = setUp([401, 401, 200], { keys: ["k1", "k2"] });
  await post();
  await post();
  assert.deepEqual(access.keyPool!.states.map(({ isPaused }) => isPaused), [false, true]);
});

Deno.test("a refusal that can't be read has its status; an abort while it is read is one", async () => {
  const failing = (thrown: Error) => {
    const refused = answer(400);
    return readRefusal({
      ...refused,
      body: { ...refused.body, readAll: () => Promise.reject(thrown) },
    });
  };
  assert.deepEqual(await failing(new Fault("upstream_stream_truncated")), {
    ...{ json: undefined, text: "" },
  });
  await assert.rejects(failing(new UpstreamAborted()), UpstreamAborted);
});

Deno.test("a conflict is answered with advice to retry, unless its vendor advises otherwise", () => {
  const adviceOf = (status: number, headers: Record<string, string>, keys: string[]) => {
    const { access } = setUp([], { keys });
    const refused = { ...answer(status), headers };
    const fault = refusalFault({ log, clock: new FakeClock() }, access, refused, {});
    return [fault.code, fault.vendorRetryAdvice];
  };
  const no = { "x-should-retry": "false" };
  assert.deepEqual(adviceOf(409, {}, ["k1"]), ["invalid_request", true]);
  assert.deepEqual(adviceOf(409, no, ["k1"]), ["invalid_request", false]);
  assert.deepEqual(adviceOf(409, {}, ["k1", "k2"]), ["invalid_request", true]);
  assert.deepEqual(adviceOf(409, no, ["k1", "k2"]), ["invalid_request", false]);
  assert.deepEqual(adviceOf(400, {}, ["k1"]), ["invalid_request", undefined]);
  assert.deepEqual(adviceOf(429, no, ["k1"]), ["upstream_rate_limited", false]);
  assert.deepEqual(adviceOf(429, no, ["k1", "k2"]), ["upstream_rate_limited", undefined]);
});
