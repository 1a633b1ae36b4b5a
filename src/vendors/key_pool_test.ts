import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import { createKeyPools, KeyPool } from "./key_pool.ts";
import { createRegistry } from "./registry.ts";

function start(...texts: string[]) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const write = (message: string, fields?: object) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log = { info: write, warn: write };
  const pool = new KeyPool("vendor-b", texts.map((text) => new Secret(text)), { clock, log });
  return { clock, pool, lines };
}

Deno.test("calls take the keys in turn", () => {
  const { pool } = start("k1", "k2", "k3");
  const names = Array.from({ length: 7 }, () => pool.take().name);
  assert.deepEqual(names, ["#1", "#2", "#3", "#1", "#2", "#3", "#1"]);
});

Deno.test("a limited key is paused as long as its vendor says, 10 s without, and an hour at most", () => {
  const given = [[3_000, 3_000], [undefined, 10_000], [1e12, 3_600_000]] as const;
  for (const [retryAfterMs, restMs] of given) {
    const { clock, pool } = start("k1", "k2");
    pool.pause(pool.take(), "limited", retryAfterMs);
    const next = () => [pool.take(), pool.take()].map(({ name }) => name).sort();
    clock.advance(restMs - 1);
    assert.deepEqual(next(), ["#2", "#2"]);
    clock.advance(1);
    assert.deepEqual(next(), ["#1", "#2"]);
  }
});

Deno.test("a key that is refused or out of quota is paused for five minutes", () => {
  for (const trouble of ["refused", "out_of_quota"] as const) {
    const { clock, pool } = start("k1", "k2");
    pool.pause(pool.take(), trouble, 1_000);
    clock.advance(299_999);
    assert.deepEqual([pool.take().name, pool.take().name], ["#2", "#2"]);
    clock.advance(1);
    assert.deepEqual([pool.take().name, pool.take().name].sort(), ["#1", "#2"]);
  }
});

Deno.test("within a call each key is used once, and no paused one", () => {
  const { pool } = start("k1", "k2", "k3");
  const first = pool.take();
  pool.pause(first, "limited");
  const second = pool.takeAnother([first])!;
  assert.equal(second.name, "#2");
  pool.pause(second, "limited");
  const third = pool.takeAnother([first, second])!;
  assert.equal(third.name, "#3");
  assert.equal(pool.hasAnother([first, second, third]), false);
  assert.equal(pool.takeAnother([first, second, third]), undefined);
});

Deno.test("if all are paused, the first to resume is used; once it works it is paused no more", () => {
  const { pool } = start("k1", "k2");
  pool.pause(pool.take(), "refused");
  pool.pause(pool.take(), "limited", 20_000);
  const taken = pool.take();
  assert.deepEqual([taken.name, taken.isPaused], ["#2", true]);
  pool.answered(taken);
  assert.deepEqual(pool.states.map(({ isPaused }) => isPaused), [true, false]);
});

Deno.test("the wait is that of the first key that a limit has paused", () => {
  const { clock, pool } = start("k1", "k2", "k3");
  assert.equal(pool.waitMs, 0);
  pool.pause(pool.take(), "refused");
  pool.pause(pool.take(), "limited", 400_000);
  assert.equal(pool.waitMs, 0, "the third is left");
  pool.pause(pool.take(), "limited", 600_000);
  clock.advance(1_000);
  assert.equal(pool.waitMs, 399_000, "not that of the refused one, which is over before");
  pool.pause(pool.take(), "out_of_quota");
  pool.pause({ secret: new Secret("k2"), name: "#2", isPaused: true }, "out_of_quota");
  pool.pause({ secret: new Secret("k3"), name: "#3", isPaused: true }, "out_of_quota");
  assert.equal(pool.waitMs, undefined, "only an operator can help");
});

Deno.test("an answer to a request of before the pause does not end it", () => {
  const { pool } = start("k1", "k2");
  const early = pool.take();
  pool.pause(early, "limited");
  pool.answered(early);
  assert.deepEqual(pool.states.map(({ isPaused }) => isPaused), [true, false]);
});

Deno.test("keys are named by their position, never by their text", () => {
  const { pool, lines } = start("first-secret-text", "second-secret-text");
  const taken = pool.take();
  pool.pause(taken, "refused");
  assert.match(lines.join(), /"vendor":"vendor-b","key":"#1","reason":"refused","seconds":300/);
  assert.doesNotMatch(lines.join() + JSON.stringify(taken), /secret-text/);
});

Deno.test("vendors with several keys have pools, shared where the keys are; gauges name positions", () => {
  const { all } = createRegistry({
    "vendor-b": { apiKey: new Secret("only") },
    "vendor-d": { apiKey: new Secret("d1,d2") },
  }, []);
  const clock = new FakeClock();
  const log = { info() {}, warn() {} };
  const pools = createKeyPools({ vendors: all, clock, log });
  const poolOf = (label: string) => pools.of(all.find((vendor) => vendor.label === label)!);
  assert.equal(poolOf("vendor-a"), undefined);
  assert.equal(poolOf("vendor-b"), undefined, "an only key is never paused");
  assert.equal(poolOf("vendor-e"), poolOf("vendor-d"));
  const pool = poolOf("vendor-d")!;
  assert.deepEqual([pool.take().secret.reveal(), pool.take().secret.reveal()], ["d1", "d2"]);
  pool.pause(pool.take(), "limited");
  const gauge = pools.gauges.gateway_vendor_key_resting!;
  assert.deepEqual(gauge.readAll(), [
    { labels: { vendor: "vendor-d", key: "#1" }, value: 1 },
    { labels: { vendor: "vendor-d", key: "#2" }, value: 0 },
    { labels: { vendor: "vendor-e", key: "#1" }, value: 1 },
    { labels: { vendor: "vendor-e", key: "#2" }, value: 0 },
  ]);
});
