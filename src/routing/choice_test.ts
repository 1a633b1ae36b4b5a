import assert from "@std/assert";
import { Random } from "../../tests/support/random.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Vendor } from "../vendors/registry.ts";
import { type ChoiceDeps, orderTargets, type RoutedCall } from "./choice.ts";
import type { Route } from "./route.ts";

function modelOf(id: string): ResolvedModel {
  const [label = "", model = ""] = id.split("/");
  return { vendor: { label, sharesWith: label } as Vendor, model, id };
}

interface RouteOptions {
  weights: Record<string, number>;
  fallbacks?: string[];
  stickBy?: "session" | "user";
}

function routeOf({ weights, fallbacks = [], stickBy }: RouteOptions): Route {
  const [first, ...others] = Object.entries(weights)
    .map(([id, weight]) => ({ target: modelOf(id), weight }))
    .sort((a, b) => b.weight - a.weight);
  return {
    ...{ name: "smart", isVirtual: true, targets: [first!, ...others] },
    fallbacks: fallbacks.map(modelOf),
    ...(stickBy ? { stickBy } : {}),
  };
}

const nothing: RoutedCall = {
  ...{ sessionId: undefined, userId: undefined, fallbacks: [], isOneVendor: false },
};
const random = new Random(1);
const healthy: ChoiceDeps = {
  targetHealth: { isCooling: () => false },
  random: () => random.next(),
};

function order(route: Route, call: Partial<RoutedCall> = {}, deps = healthy): string[] {
  return orderTargets(deps, route, { ...nothing, ...call }).map(({ id }) => id);
}

/** How many of the calls have each target first. */
function shares(route: Route, calls: readonly Partial<RoutedCall>[], deps = healthy) {
  const counts = new Map<string, number>();
  for (const call of calls) {
    const [first] = order(route, call, deps);
    counts.set(first!, (counts.get(first!) ?? 0) + 1);
  }
  return counts;
}

const count = 10_000;
const sessions = Array.from({ length: count }, (_, index) => ({ sessionId: `session-${index}` }));

/** Three standard deviations of a share of `count`. */
function tolerance(share: number): number {
  return 3 * Math.sqrt(count * share * (1 - share));
}

const nineToOne = { "vendor-b/nine": 9, "vendor-c/one": 1 };

for (const stickBy of ["session", "user", undefined] as const) {
  Deno.test(`weights of 9:1 hold over ${count} calls that stick by ${stickBy ?? "nothing"}`, () => {
    const route = routeOf({ weights: nineToOne, ...(stickBy ? { stickBy } : {}) });
    // All calls share what the route doesn't stick by.
    const calls = sessions.map(({ sessionId }) => ({
      userId: stickBy === "user" ? sessionId : "one",
      sessionId: stickBy === "session" ? sessionId : "one",
    }));
    const nine = shares(route, calls).get("vendor-b/nine")!;
    assert.ok(Math.abs(nine - count * 0.9) <= tolerance(0.9), `${nine} of ${count}`);
  });
}

Deno.test("the same session has the same target, whatever the order of the targets and the chance", () => {
  const weights = { "a/1": 5, "b/2": 5, "c/3": 5 };
  const backwards = Object.fromEntries(Object.entries(weights).reverse());
  const route = routeOf({ weights, stickBy: "session" });
  const other = routeOf({ weights: backwards, stickBy: "session" });
  const firsts = new Set<string>();
  for (const session of sessions.slice(0, 500)) {
    const [first] = order(route, session);
    firsts.add(first!);
    assert.equal(order(other, session)[0], first);
    assert.equal(order(route, session, { ...healthy, random: () => 0.999 })[0], first);
  }
  assert.equal(firsts.size, 3);
});

/** Written down once: another process, another version of the program chooses the same. */
Deno.test("what a session sticks to does not change from run to run", () => {
  const route = routeOf({ weights: { "a/1": 1, "b/2": 2, "c/3": 3 }, stickBy: "session" });
  const firsts = ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"]
    .map((sessionId) => order(route, { sessionId })[0]);
  assert.deepEqual(firsts, ["c/3", "c/3", "c/3", "b/2", "a/1", "b/2", "c/3", "b/2"]);
});

Deno.test("a changed weight moves only sessions to or from its target, and no more than its share", () => {
  const before = routeOf({ weights: { "a/1": 4, "b/2": 4, "c/3": 2 }, stickBy: "session" });
  const after = routeOf({ weights: { "a/1": 4, "b/2": 4, "c/3": 4 }, stickBy: "session" });
  let moved = 0;
  for (const session of sessions) {
    const [from] = order(before, session);
    const [to] = order(after, session);
    if (from === to) continue;
    moved++;
    assert.equal(to, "c/3", "only to the target whose weight grew");
  }
  // From 2 of 10 to 4 of 12.
  const share = 4 / 12 - 2 / 10;
  assert.ok(Math.abs(moved - count * share) <= tolerance(share), `${moved} sessions moved`);
});

Deno.test("a removed target's sessions go elsewhere, and all others stay", () => {
  const before = routeOf({ weights: { "a/1": 1, "b/2": 1, "c/3": 1 }, stickBy: "session" });
  const after = routeOf({ weights: { "a/1": 1, "b/2": 1 }, stickBy: "session" });
  for (const session of sessions) {
    const [from] = order(before, session);
    if (from !== "c/3") assert.equal(order(after, session)[0], from);
  }
});

Deno.test("then come the other targets in falling weight, the call's fallbacks, the route's; each once", () => {
  const route = routeOf({
    weights: { "a/1": 1, "b/2": 5, "c/3": 3, "d/4": 4 },
    fallbacks: ["e/5", "c/3", "f/6"],
  });
  const call = { fallbacks: [modelOf("g/7"), modelOf("f/6"), modelOf("g/7")] };
  const all = order(route, call, { ...healthy, random: () => 0.999 });
  assert.deepEqual(all, ["a/1", "b/2", "d/4", "c/3", "g/7", "f/6", "e/5"]);
});

Deno.test("without a session a call that sticks by it goes by chance", () => {
  const route = routeOf({ weights: { "a/1": 1, "b/2": 1 }, stickBy: "session" });
  const at = (chance: number) => order(route, {}, { ...healthy, random: () => chance })[0];
  assert.notEqual(at(0), at(0.999));
});

Deno.test("of a model that is named twice the first one counts", () => {
  const route = routeOf({ weights: { "a/1": 1, "b/2": 1 } });
  const named = { ...modelOf("a/1"), through: "another" };
  const all = orderTargets(healthy, route, { ...nothing, fallbacks: [named] });
  assert.equal(all.find(({ id }) => id === "a/1")!.through, undefined);
  assert.equal(all.length, 2);
});

Deno.test("targets that cool come last, in their order", () => {
  const route = routeOf({ weights: { "a/1": 3, "b/2": 2, "c/3": 1 }, fallbacks: ["d/4"] });
  const cooling = ["a/1", "c/3"];
  const deps = {
    targetHealth: { isCooling: ({ id }: { id: string }) => cooling.includes(id) },
    random: () => 0,
  };
  assert.deepEqual(order(route, {}, deps), ["b/2", "d/4", "a/1", "c/3"]);
  cooling.push("b/2", "d/4");
  assert.deepEqual(order(route, {}, deps), ["a/1", "b/2", "c/3", "d/4"]);
});

Deno.test("a call with a vendor key reaches no other vendor", () => {
  const call = { isOneVendor: true, fallbacks: [modelOf("b/9"), modelOf("a/8")] };
  const route = routeOf({ weights: { "a/1": 2, "a/2": 1 }, fallbacks: ["c/3", "a/4"] });
  const all = order(route, call, { ...healthy, random: () => 0 });
  assert.deepEqual(all, ["a/1", "a/2", "a/8", "a/4"]);
});
