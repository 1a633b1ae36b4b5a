import assert from "@std/assert";
import { mayBeRetried, nextDelayMs, retryAfterMs, vendorRetryAdvice } from "./upstream_retry.ts";

const now = new Date("2026-11-21T12:00:00.500Z");

Deno.test("only statuses that may pass by themselves are asked again, unless the vendor says not to", () => {
  const retried = [408, 429, 500, 502, 503, 504, 529];
  for (let status = 100; status < 600; status++) {
    for (const advice of ["true", "false", undefined]) {
      const headers: Record<string, string> = advice ? { "x-should-retry": advice } : {};
      const expected = retried.includes(status) && advice !== "false";
      assert.equal(mayBeRetried(status, headers), expected, `${status} ${advice}`);
    }
  }
});

Deno.test("there are at most two repetitions and at most two seconds of waiting", () => {
  for (const random of [() => 0, () => 0.5, () => 0.999999]) {
    let waitedMs = 0;
    const delays: number[] = [];
    for (let retries = 0;; retries++) {
      const delayMs = nextDelayMs({ retries, waitedMs }, random);
      if (delayMs === undefined) break;
      assert.ok(delayMs > 0);
      delays.push(delayMs);
      waitedMs += delayMs;
    }
    assert.equal(delays.length, 2);
    assert.ok(waitedMs <= 2000, String(waitedMs));
  }
});

Deno.test("the vendor's wish to wait is kept, or ends the repetitions", () => {
  const first = { retries: 0, waitedMs: 0 };
  assert.equal(nextDelayMs(first, () => 0, 1000), 1000);
  assert.equal(nextDelayMs(first, () => 0, 2000), 2000);
  assert.equal(nextDelayMs(first, () => 0, 2001), undefined);
  assert.equal(nextDelayMs(first, () => 0, 0), 250);
  assert.equal(nextDelayMs({ retries: 1, waitedMs: 1000 }, () => 0, 1001), undefined);
  assert.equal(nextDelayMs({ retries: 1, waitedMs: 1900 }, () => 0), undefined);
});

Deno.test("the randomness of a wait never takes away a retry that the vendor's wait leaves room for", () => {
  const second = { retries: 1, waitedMs: 1000 };
  for (const random of [() => 0, () => 0.5, () => 0.999999]) {
    assert.equal(nextDelayMs(second, random, 1000), 1000);
  }
  assert.equal(nextDelayMs(second, () => 0), 750);
  assert.equal(nextDelayMs(second, () => 0.999999), 1000);
  assert.equal(nextDelayMs({ retries: 1, waitedMs: 1251 }, () => 0), undefined);
});

Deno.test("x-should-retry is true or false; anything else says nothing", () => {
  const cases = [["true", true], ["false", false], ["no", undefined], ["", undefined]] as const;
  for (const [value, expected] of cases) {
    assert.equal(vendorRetryAdvice({ "x-should-retry": value }), expected, value);
  }
  assert.equal(vendorRetryAdvice({}), undefined);
});

Deno.test("Retry-After is read as seconds, as a date and in milliseconds", () => {
  const cases: [Record<string, string>, number | undefined][] = [
    [{}, undefined],
    [{ "retry-after": "2" }, 2000],
    [{ "retry-after": " 0.5 " }, 500],
    [{ "retry-after": "Sat, 21 Nov 2026 12:00:02 GMT" }, 1500],
    [{ "retry-after": "Sat, 21 Nov 2026 11:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    // The vendor's clock is ten minutes behind ours, and ahead of it.
    [
      { "retry-after": "Sat, 21 Nov 2026 11:50:03 GMT", date: "Sat, 21 Nov 2026 11:50:00 GMT" },
      3000,
    ],
    [
      { "retry-after": "Sat, 21 Nov 2026 12:10:03 GMT", date: "Sat, 21 Nov 2026 12:10:00 GMT" },
      3000,
    ],
    [{ "retry-after": "Sat, 21 Nov 2026 12:00:02 GMT", date: "today" }, 1500],
    [{ "retry-after": "2", date: "Sat, 21 Nov 2026 11:50:00 GMT" }, 2000],
    [{ "retry-after": "in 45" }, undefined],
    [{ "retry-after": "1e9" }, undefined],
    [{ "retry-after": "60", "retry-after-ms": "150" }, 150],
    [{ "retry-after": "60", "retry-after-ms": "x" }, 60_000],
    [{ "retry-after": String(now.getTime() / 1000 + 60) }, 60_000],
    [{ "retry-after": String(now.getTime() + 60_000) }, 60_000],
    [{ "retry-after": String(now.getTime() / 1000 - 60) }, 0],
    [{ "retry-after": "2592000" }, 2_592_000_000],
    [{ "retry-after": "999999999" }, undefined],
    [{ "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" }, undefined],
    [{ "retry-after": "9".repeat(400) }, undefined],
    [{ "retry-after": "60", "retry-after-ms": "9".repeat(400) }, 60_000],
  ];
  for (const [headers, expected] of cases) {
    assert.equal(retryAfterMs(headers, now), expected, JSON.stringify(headers));
  }
});
