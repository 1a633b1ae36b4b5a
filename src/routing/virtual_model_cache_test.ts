import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { createRegistry } from "../vendors/registry.ts";
import { createRealModels } from "./real_models.ts";
import type { VirtualModelChange, VirtualModelDefinition } from "./virtual_model.ts";
import { VirtualModelCache } from "./virtual_model_cache.ts";

const to = (model: string): VirtualModelDefinition => ({
  targets: [{ model, weight: 1 }],
  fallbacks: [],
});

function setup() {
  const clock = new FakeClock();
  const rows = new Map<string, VirtualModelChange & { updatedAt: Date }>();
  const asked: (Date | null)[] = [];
  const warnings: string[] = [];
  const gates: Promise<void>[] = [];
  const cache = new VirtualModelCache({
    models: createRealModels({ registry: createRegistry({}, []), prices: { rows: () => [] } }),
    log: { warn: (line) => void warnings.push(line) },
    store: {
      async changedSince(since) {
        asked.push(since);
        const changes = [...rows.values()].filter(({ definition, updatedAt }) =>
          since === null ? definition !== null : updatedAt >= since
        );
        const now = clock.now();
        await gates.shift();
        return { now, changes };
      },
    },
  });
  const put = (accountId: number, name: string, definition: VirtualModelDefinition | null) => {
    const at = clock.now();
    rows.set(`${accountId} ${name}`, {
      ...{ accountId, name, definition, createdAt: at, updatedAt: at },
    });
  };
  const target = (accountId: number, name: string) => {
    const found = cache.find(accountId, name);
    return typeof found === "object" ? found.targets[0].target.id : found;
  };
  return { clock, rows, asked, warnings, gates, cache, put, target };
}

Deno.test("before the first look nothing is known, and another model may not answer for it", () => {
  assert.throws(() => setup().cache.find(1, "fast"), { code: "store_unavailable" });
});

Deno.test("made, changed and removed: each look has it, for its account alone", async () => {
  const { clock, cache, put, target } = setup();
  put(1, "fast", to("openai/a"));
  await cache.refresh();
  assert.deepEqual([target(1, "fast"), target(11, "fast")], ["vendor-b/a", undefined]);
  clock.advance(1000);
  put(1, "fast", to("openai/b"));
  put(11, "fast", to("openai/c"));
  put(11, "slow", to("openai/d"));
  await cache.refresh();
  assert.deepEqual([target(1, "fast"), target(11, "fast")], ["vendor-b/b", "vendor-b/c"]);
  clock.advance(1000);
  put(1, "fast", null);
  await cache.refresh();
  assert.deepEqual([target(1, "fast"), target(11, "fast")], [undefined, "vendor-b/c"]);
  assert.deepEqual(cache.list(11).map(({ name }) => name), ["fast", "slow"]);
  assert.deepEqual(cache.list(1), []);
});

Deno.test("each look goes back a minute, since rows are seen later than the time they carry", async () => {
  const { clock, asked, cache } = setup();
  await cache.refresh();
  const first = clock.now().getTime();
  clock.advance(5000);
  await cache.refresh();
  assert.deepEqual(asked.map((since) => since?.getTime()), [undefined, first - 60_000]);
});

Deno.test("looks that overlap are made one after the other: the later rows count", async () => {
  const { clock, gates, cache, put, target } = setup();
  put(1, "fast", to("openai/old"));
  await cache.refresh();
  let open = () => {};
  gates.push(new Promise((resolve) => open = resolve));
  const slow = cache.refresh();
  clock.advance(1000);
  put(1, "fast", to("openai/new"));
  const next = cache.refresh();
  open();
  await Promise.all([slow, next]);
  assert.equal(target(1, "fast"), "vendor-b/new");
});

Deno.test("a look that fails changes nothing, and the next one goes on", async () => {
  const { clock, gates, cache, put, target } = setup();
  put(1, "fast", to("openai/a"));
  await cache.refresh();
  gates.push(Promise.reject(new Error("away")));
  await assert.rejects(cache.refresh(), /away/);
  assert.equal(target(1, "fast"), "vendor-b/a");
  clock.advance(1000);
  put(1, "fast", to("openai/b"));
  await cache.refresh();
  assert.equal(target(1, "fast"), "vendor-b/b");
});

Deno.test("after a long outage all is read again: rows of removed models may be gone", async () => {
  const { clock, rows, asked, cache, put, target } = setup();
  put(1, "fast", to("openai/a"));
  put(1, "slow", to("openai/b"));
  await cache.refresh();
  clock.advance(61 * 60_000);
  rows.delete("1 fast");
  await cache.refresh();
  assert.deepEqual([target(1, "fast"), target(1, "slow")], [undefined, "vendor-b/b"]);
  assert.equal(asked.at(-1), null);
});

Deno.test("a model whose vendor is gone is warned of once, and leads nowhere", async () => {
  const { clock, warnings, cache, put, target } = setup();
  put(1, "fast", to("gone/x"));
  await cache.refresh();
  clock.advance(1000);
  await cache.refresh();
  assert.equal(target(1, "fast"), "no-targets");
  assert.equal(warnings.length, 1);
});
