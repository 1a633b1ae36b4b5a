import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { createAdmission } from "./admission.ts";

function admissionOf(maxUnderWay = 100_000) {
  const clock = new FakeClock();
  const admission = createAdmission({ maxUnderWay, clock });
  const begun: string[] = [];
  const enter = (who: string) => {
    const call = {};
    return admission.enter(who, call, () => begun.push(who)) ? call : undefined;
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

Deno.test("who leaves the line never begins, and all is as before when the loop has time", () => {
  const { admission, clock, begun, fill } = admissionOf();
  admission.lag(500);
  const calls = fill("a", 200);
  const first = begun.length;
  for (const call of calls.slice(first)) admission.ended(call);
  for (const call of calls.slice(0, first)) admission.ended(call);
  assert.equal(begun.length, first);
  assert.equal(admission.underWay, 0);
  // Ends that are told twice, or parts of calls that are gone, change nothing.
  admission.ended(calls[0]!);
  admission.turned(calls[0]!);
  clock.advance(2_001);
  admission.lag(0);
  fill("a", 5_000);
  assert.equal(begun.length, first + 5_000);
});
