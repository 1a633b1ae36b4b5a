import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { Admission } from "./admission.ts";

function admissionOf(maxUnderWay = 100_000) {
  const clock = new FakeClock();
  const admission = new Admission({ maxUnderWay, clock });
  const begun: string[] = [];
  const enter = (who: string) => {
    const call = {};
    const noRoom = admission.enter(who, call, () => begun.push(who));
    return noRoom === undefined ? call : undefined;
  };
  /** Calls of one account that come at once and were taken in. */
  const fill = (who: string, most = 5_000) => {
    const calls = [];
    for (let made = 0; made < most; made++) {
      const call = enter(who);
      if (call) calls.push(call);
    }
    return calls;
  };
  return { admission, clock, begun, enter, fill };
}

Deno.test("no account can have all calls under way: each newcomer finds room", () => {
  const { enter, fill } = admissionOf(1_000);
  for (let account = 1; account <= 8; account++) {
    const share = 250 * 0.75 ** (account - 1);
    const taken = fill(`account ${account}`).length;
    assert.ok(Math.abs(taken - share) < 4, `${taken} for account ${account}`);
  }
  assert.ok(enter("account 9"));
});

Deno.test("an account that has its share under way gets a place for each call that ends", () => {
  const { admission, enter, fill } = admissionOf(1_000);
  const calls = fill("a");
  assert.equal(enter("a"), undefined);
  for (const call of calls.slice(0, 3)) {
    admission.ended(call);
    assert.ok(enter("a"));
    assert.equal(enter("a"), undefined);
  }
});

Deno.test("an account's calls count until the last has ended, and none of them afterwards", () => {
  const { admission, fill } = admissionOf(1_001);
  const calls = fill("a");
  for (const call of calls.slice(1)) admission.ended(call);
  const more = fill("a");
  assert.equal(more.length, calls.length - 1);
  for (const call of [calls[0]!, ...more]) admission.ended(call);
  assert.equal(fill("a").length, calls.length);
});

Deno.test("while the loop turns in time a crowd that comes at once begins at once", () => {
  const { admission, begun, fill } = admissionOf();
  admission.lag(90);
  fill("a");
  assert.equal(begun.length, 5_000);
  assert.equal(admission.refused, 0);
});

Deno.test("in a busy process a burst waits in line, and only what is more is refused", () => {
  const { admission, begun, fill } = admissionOf();
  admission.lag(500);
  const burst = fill("a", 256);
  assert.equal(burst.length, 256);
  assert.ok(begun.length < 128);
  const more = fill("a");
  assert.ok(more.length < 256 && admission.refused > 4_000);
  for (const call of [...burst, ...more]) admission.ended(call);
  assert.equal(begun.length, 256 + more.length, "all have their turn");
  assert.equal(admission.underWay, 0);
});

Deno.test("accounts in line take turns: who makes few calls waits for few", () => {
  const { admission, begun, fill } = admissionOf();
  admission.lag(500);
  const flood = fill("greedy");
  const before = begun.length;
  for (let account = 1; account <= 8; account++) {
    assert.equal(fill(`modest ${account}`, 10).length, 10, "the ninth account is let in too");
  }
  assert.equal(begun.length, before);
  for (const call of flood.slice(0, before)) admission.ended(call);
  const modest = begun.filter((who) => who !== "greedy").length;
  assert.ok(modest >= before * 8 / 9 - 1, `${modest} of ${before}`);
});

Deno.test("calls that wait for their vendor make room, and those that go on take it", () => {
  const { admission, clock, begun, fill } = admissionOf();
  admission.lag(200);
  const calls = fill("a", 300);
  const first = begun.length;
  clock.advance(300);
  for (const call of calls.slice(0, first)) admission.turned(call);
  // They may wait for us: the loop is late.
  clock.advance(300);
  admission.lag(20);
  assert.equal(begun.length, first);
  clock.advance(1_000);
  admission.lag(20);
  assert.equal(begun.length, 2 * first);
  // Answers of the first are there.
  for (const call of calls.slice(0, first)) admission.turned(call);
  clock.advance(10);
  admission.ended(calls[first]!);
  assert.equal(begun.length, 2 * first);
});

Deno.test("a caller that leaves the queue never begins, and limits recover when the loop has time", () => {
  const { admission, clock, begun, fill } = admissionOf();
  admission.lag(500);
  const calls = fill("a", 200);
  const first = begun.length;
  for (const call of calls.slice(first)) admission.ended(call);
  for (const call of calls.slice(0, first)) admission.ended(call);
  assert.equal(begun.length, first);
  assert.equal(admission.underWay, 0);
  // Ends that are reported twice, or parts of ended calls, change nothing.
  admission.ended(calls[0]!);
  admission.turned(calls[0]!);
  assert.equal(admission.underWay, 0);
  clock.advance(2_001);
  admission.lag(0);
  fill("a", 5_000);
  assert.equal(begun.length, first + 5_000);
});

/**
 * A process that works off calls at a pace, with callers that come again as soon as they are
 * answered and, when they are refused, after the time that they are told.
 */
function simulate(plan: {
  readonly seconds: number;
  readonly callers: Readonly<Record<string, number>>;
  /** Calls a second, by the second. */
  readonly pace: (second: number) => number;
}) {
  const clock = new FakeClock();
  const admission = new Admission({ maxUnderWay: 4_096, clock });
  const working: { call: object; again: () => void }[] = [];
  const coming: { atMs: number; come: () => void }[] = [];
  const seen: { who: string; atMs: number; waitedMs?: number; retrySeconds?: number }[] = [];
  const beganMs = clock.monotonicMs();
  const come = (who: string) => {
    const call = {};
    const cameMs = clock.monotonicMs();
    const note = { who, atMs: cameMs - beganMs };
    const again = () => {
      seen.push({ ...note, waitedMs: clock.monotonicMs() - cameMs });
      come(who);
    };
    const noRoom = admission.enter(who, call, () => working.push({ call, again }));
    if (noRoom === undefined) return;
    const { retryAfterSeconds } = noRoom;
    seen.push({ ...note, retrySeconds: retryAfterSeconds });
    coming.push({ atMs: cameMs + retryAfterSeconds * 1000, come: () => come(who) });
  };
  admission.lag(200);
  for (const [who, many] of Object.entries(plan.callers)) {
    for (let one = 0; one < many; one++) come(who);
  }
  let due = 0;
  for (let ms = 0; ms < plan.seconds * 1000; ms += 10) {
    clock.advance(10);
    for (due += plan.pace(Math.floor(ms / 1000)) / 100; due >= 1; due--) {
      const done = working.shift();
      if (done === undefined) continue;
      admission.ended(done.call);
      done.again();
    }
    // The loop is late all the time.
    admission.lag(200);
    const now = coming.filter(({ atMs }) => atMs <= clock.monotonicMs());
    for (const one of now) {
      coming.splice(coming.indexOf(one), 1);
      one.come();
    }
  }
  const of = (who: string, fromSecond = 0) =>
    seen.filter((one) => one.who === who && one.atMs >= fromSecond * 1000);
  const longest = (who: string, fromSecond = 0) =>
    Math.max(0, ...of(who, fromSecond).map(({ waitedMs = 0 }) => waitedMs));
  const answered = (who: string, fromSecond = 0) =>
    of(who, fromSecond).filter(({ waitedMs }) => waitedMs !== undefined).length;
  return { admission, of, longest, answered, refused: () => admission.refused };
}

Deno.test("a thousand callers of one account are all served when that takes three seconds", () => {
  const { refused, longest, answered } = simulate({
    seconds: 20,
    callers: { a: 1_000 },
    pace: () => 330,
  });
  assert.ok(answered("a", 1) > 15 * 330);
  // Before the pace is known some may be refused with Retry-After.
  assert.ok(refused() < 600, `${refused()} were refused`);
  assert.ok(longest("a", 4) < 4_000, `${longest("a", 4)} ms`);
});

Deno.test("a slow process has a shorter queue, and sends the others Retry-After", () => {
  const { of, longest, answered } = simulate({
    seconds: 60,
    callers: { a: 1_000 },
    pace: () => 50,
  });
  assert.ok(longest("a", 5) < 6_000, `${longest("a", 5)} ms`);
  const times = of("a", 5).flatMap(({ retrySeconds }) => retrySeconds ?? []);
  assert.ok(times.length > 0 && times.every((seconds) => seconds >= 3 && seconds <= 8));
  assert.ok(answered("a") > 0.95 * 50 * 55, "there is always somebody in line");
});

Deno.test("the line follows the pace of the last seconds", () => {
  const { longest, refused } = simulate({
    seconds: 40,
    callers: { a: 900 },
    pace: (second) => second < 20 ? 400 : 40,
  });
  // Who stood in line already when it fell waits for longer; who comes ten seconds later doesn't.
  assert.ok(longest("a", 30) < 6_000, `${longest("a", 30)} ms`);
  assert.ok(refused() > 500);
});

Deno.test("a crowd in line lengthens the wait of no other account's few calls", () => {
  const { of, longest, answered } = simulate({
    seconds: 20,
    callers: { greedy: 3_000, modest: 20, single: 1 },
    pace: () => 300,
  });
  for (const who of ["modest", "single"]) {
    assert.ok(of(who).every(({ retrySeconds }) => retrySeconds === undefined), who);
    assert.ok(longest(who) < 500, `${longest(who)} ms for ${who}`);
  }
  // Three take turns; who asks for less has what it asks for.
  const share = answered("modest", 5) / answered("greedy", 5);
  assert.ok(share > 0.8, `${share}`);
});

Deno.test("five crowds have the same share of the line, and none of it is left unused", () => {
  const names = ["a", "b", "c", "d", "e"];
  const { answered } = simulate({
    seconds: 30,
    callers: Object.fromEntries(names.map((name) => [name, 800])),
    pace: () => 250,
  });
  const shares = names.map((name) => answered(name, 5));
  assert.ok(Math.min(...shares) > 0.7 * Math.max(...shares), shares.join(", "));
  assert.ok(shares.reduce((sum, one) => sum + one) > 0.9 * 250 * 20);
});
