import assert from "@std/assert";
import { backoffMs, type Fetch, type RetryOptions, withRetries } from "./retry.ts";

type Step = { status: number; code?: string; headers?: Record<string, string> } | "broken";

/** A service that answers with the steps, and what was asked of it. */
function scripted(steps: Step[], options: RetryOptions = {}) {
  const waits: number[] = [];
  const seen: { id: string | null; body: string }[] = [];
  const send: Fetch = async (request) => {
    seen.push({ id: request.headers.get("X-Request-ID"), body: await request.text() });
    const step = steps[seen.length - 1] ?? { status: 200 };
    if (step === "broken") throw new TypeError("connection reset");
    const { status, code = "x", headers = {} } = step;
    return Response.json({ error: { code, message: "m" } }, { status, headers });
  };
  const retrying = withRetries(send, {
    random: () => 0.5,
    sleep: (ms) => Promise.resolve(void waits.push(ms)),
    ...options,
  });
  return { retrying, waits, seen };
}

const post = (headers = {}) =>
  new Request("http://x/y", { method: "POST", body: "hello", headers });

Deno.test("a call is made five times at most, after 1, 2, 4 and 8 s with jitter", async () => {
  const { retrying, waits, seen } = scripted(Array(9).fill({ status: 503 }));
  assert.equal((await retrying(post())).status, 503);
  assert.equal(seen.length, 5);
  assert.deepEqual(waits, [1500, 2500, 4500, 8500]);
});

Deno.test("the fifth wait is 16 s, and no wait is longer than 17 s", () => {
  assert.equal(backoffMs(5, () => 0), 16_000);
  assert.equal(backoffMs(50, () => 1), 17_000);
});

Deno.test("every try carries the same body and the same id", async () => {
  const { retrying, seen } = scripted(["broken", { status: 429 }, { status: 200 }]);
  assert.equal((await retrying(post())).status, 200);
  assert.deepEqual(seen.map(({ body }) => body), ["hello", "hello", "hello"]);
  assert.ok(seen[0]!.id);
  assert.equal(new Set(seen.map(({ id }) => id)).size, 1);
});

Deno.test("an id that the caller set is sent unchanged, and reads get none", async () => {
  const response = scripted([{ status: 500 }]);
  await response.retrying(post({ "X-Request-ID": "mine" }));
  assert.deepEqual(response.seen.map(({ id }) => id), ["mine", "mine"]);
  const read = scripted([]);
  await read.retrying(new Request("http://x/y"));
  assert.equal(read.seen[0]!.id, null);
});

Deno.test("two calls have two ids", async () => {
  const { retrying, seen } = scripted([]);
  await retrying(post());
  await retrying(post());
  assert.notEqual(seen[0]!.id, seen[1]!.id);
});

Deno.test("what the next try would get again is not tried again", async () => {
  for (
    const step of [
      { status: 400 },
      { status: 402, code: "insufficient_credits" },
      { status: 409 },
      { status: 501, code: "not_implemented" },
      { status: 429, headers: { "X-Should-Retry": "false" } },
      { status: 502, headers: { "X-Should-Retry": "false" } },
    ]
  ) {
    const { retrying, seen } = scripted([step]);
    assert.equal((await retrying(post())).status, step.status);
    assert.equal(seen.length, 1, JSON.stringify(step));
  }
});

Deno.test("Retry-After is waited for, and one that is too long goes to the caller", async () => {
  const short = scripted([{ status: 429, headers: { "Retry-After": "7" } }]);
  assert.equal((await short.retrying(post())).status, 200);
  assert.deepEqual(short.waits, [7000]);
  const long = scripted([{ status: 429, headers: { "Retry-After": "61" } }]);
  assert.equal((await long.retrying(post())).status, 429);
  assert.equal(long.seen.length, 1);
});

Deno.test("the error that goes to the caller can still be read", async () => {
  const { retrying } = scripted([{ status: 503, code: "overloaded" }], { attempts: 1 });
  const { error } = await (await retrying(post())).json();
  assert.equal(error.code, "overloaded");
});

Deno.test("a connection that stays broken throws what broke it", async () => {
  const { retrying, seen } = scripted(Array(9).fill("broken"));
  await assert.rejects(retrying(post()), /connection reset/);
  assert.equal(seen.length, 5);
});

Deno.test("an abort ends the waiting at once", async () => {
  const controller = new AbortController();
  const send: Fetch = () => {
    queueMicrotask(() => controller.abort());
    return Promise.resolve(new Response(null, { status: 503 }));
  };
  const request = new Request("http://x/y", { method: "POST", signal: controller.signal });
  await assert.rejects(withRetries(send)(request), { name: "AbortError" });
});
