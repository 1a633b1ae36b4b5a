import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import type { LabelledMeasure } from "../shared/metrics.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Vendor } from "../vendors/registry.ts";
import { TargetHealth } from "./target_health.ts";

function modelOf(id: string): ResolvedModel {
  const [label = "", model = ""] = id.split("/");
  return { vendor: { label } as Vendor, model, id };
}

const target = modelOf("vendor-b/one");
const other = modelOf("vendor-c/two");

/** A health with its clock; `fail` fails so many times, `everyMs` apart. */
function start() {
  const clock = new FakeClock();
  const health = new TargetHealth(clock);
  const fail = (times: number, { everyMs = 0, retryAfter }: {
    everyMs?: number;
    retryAfter?: number;
  } = {}) => {
    for (let time = 0; time < times; time++) {
      if (time > 0) clock.advance(everyMs);
      health.asked(target);
      health.failed(target, retryAfter);
    }
  };
  return { clock, health, fail };
}

function lines(health: TargetHealth, name: string) {
  return (health.measures[name] as LabelledMeasure).readAll();
}

Deno.test("a target cools after five failures in a row, for 30 s", () => {
  const { clock, health, fail } = start();
  fail(4);
  assert.equal(health.isCooling(target), false);
  fail(1);
  assert.equal(health.isCooling(target), true);
  assert.equal(health.isCooling(other), false);
  clock.advance(29_999);
  assert.equal(health.isCooling(target), true);
  clock.advance(1);
  assert.equal(health.isCooling(target), false);
});

Deno.test("an answer between the failures ends the row", () => {
  const { health, fail } = start();
  fail(4);
  health.answered(target);
  fail(4);
  assert.equal(health.isCooling(target), false);
});

Deno.test("five failures within 30 s cool, spread over more they don't", () => {
  const { clock, health, fail } = start();
  fail(5, { everyMs: 7_501 });
  assert.equal(health.isCooling(target), false);
  clock.advance(7_500);
  // The first of the last five is 3 ms more than 30 s old.
  fail(1);
  assert.equal(health.isCooling(target), false);
  clock.advance(6_000);
  fail(1);
  assert.equal(health.isCooling(target), true);
});

Deno.test("after its time one call tries it, and the others still pass it over", () => {
  const { clock, health, fail } = start();
  fail(5);
  // The row is older than 30 s by then: the failed trial alone cools it again.
  clock.advance(30_001);
  assert.equal(health.isCooling(target), false);
  health.asked(target);
  assert.equal(health.isCooling(target), true, "another call is trying it");
  health.failed(target);
  assert.equal(health.isCooling(target), true, "for another 30 s");
  clock.advance(30_000);
  assert.equal(health.isCooling(target), false, "the next call may try it");
  health.asked(target);
  health.answered(target);
  assert.equal(health.isCooling(target), false);
  fail(4);
  assert.equal(health.isCooling(target), false, "its row begins anew");
});

Deno.test("a trial whose caller leaves is for the next call", () => {
  const { clock, health, fail } = start();
  fail(5);
  clock.advance(30_000);
  health.asked(target);
  health.released(target);
  assert.equal(health.isCooling(target), false);
  health.released(other);
  assert.equal(health.isCooling(other), false);
});

Deno.test("a trial that nobody ends is over after ten minutes", () => {
  const { clock, health, fail } = start();
  fail(5);
  clock.advance(30_000);
  health.asked(target);
  clock.advance(10 * 60_000 - 1);
  assert.equal(health.isCooling(target), true);
  clock.advance(1);
  assert.equal(health.isCooling(target), false);
});

Deno.test("a vendor is down from when a target cools until ten minutes after, or an answer", () => {
  const { clock, health, fail } = start();
  fail(4);
  health.failed(other);
  assert.deepEqual(health.downVendors, []);
  fail(1);
  assert.deepEqual(health.downVendors, ["vendor-b"]);
  clock.advance(30_000 + 10 * 60_000 - 1);
  assert.deepEqual(health.downVendors, ["vendor-b"]);
  clock.advance(1);
  assert.deepEqual(health.downVendors, []);
  fail(5);
  health.answered(target);
  assert.deepEqual(health.downVendors, []);
});

Deno.test("Retry-After counts where it is longer, up to an hour", () => {
  for (const [retryAfter, ms] of [[5, 30_000], [90, 90_000], [1e9, 3_600_000]] as const) {
    const { clock, health, fail } = start();
    fail(5, { retryAfter });
    clock.advance(ms - 1);
    assert.equal(health.isCooling(target), true, String(retryAfter));
    clock.advance(1);
    assert.equal(health.isCooling(target), false, String(retryAfter));
  }
});

Deno.test("failures of calls that began before do not prolong the time", () => {
  const { clock, health, fail } = start();
  fail(5);
  clock.advance(20_000);
  health.failed(target);
  clock.advance(10_000);
  assert.equal(health.isCooling(target), false);
});

Deno.test("metrics and health name what is passed over, and count what was left", () => {
  const { clock, health, fail } = start();
  assert.deepEqual(lines(health, "gateway_target_cooling"), []);
  fail(5);
  health.passed(target);
  health.passed(target);
  const labels = { vendor: "vendor-b", model: "one" };
  assert.deepEqual(lines(health, "gateway_target_cooling"), [{ labels, value: 1 }]);
  assert.deepEqual(lines(health, "gateway_fallbacks_total"), [
    { labels: { vendor: "vendor-b" }, value: 2 },
  ]);
  assert.equal(health.isVendorCooling("vendor-b"), true);
  assert.equal(health.isVendorCooling("vendor-c"), false);
  clock.advance(30_000);
  assert.equal(health.isVendorCooling("vendor-b"), false);
});

Deno.test("names without end fill no memory", () => {
  const { health } = start();
  for (let index = 0; index < 5_000; index++) {
    for (let time = 0; time < 5; time++) health.failed(modelOf(`vendor-b/m${index}`));
  }
  const cooling = Array.from({ length: 5_000 }, (_, index) => modelOf(`vendor-b/m${index}`))
    .filter((one) => health.isCooling(one));
  assert.equal(cooling.length, 1_000);
  assert.equal(lines(health, "gateway_target_cooling").length, 200);
});
