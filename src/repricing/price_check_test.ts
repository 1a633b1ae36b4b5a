import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import type { Catalogue } from "../vendors/catalogue.ts";
import { bundledPrices, createPrices } from "../pricing/table/prices.ts";
import { parsePricesFile } from "../pricing/table/prices_file.ts";
import { openPublicPrices } from "../pricing/sources/public_prices.ts";
import { createRegistry } from "../vendors/registry.ts";
import { compareTable, findGaps } from "./price_check.ts";

const now = new Date("2026-11-21T12:00:00Z");
const registry = createRegistry({}, []);
const publicPrices = await openPublicPrices(() => undefined);

function pricesWith(file: Record<string, unknown> = {}) {
  return createPrices({
    bundled: bundledPrices(),
    overrides: parsePricesFile(JSON.stringify(file)),
    familyOf: (name) => registry.find(name),
  });
}

Deno.test("every vendor is queried, and one that can't be is listed", async () => {
  const lists: Record<string, string[]> = {
    "vendor-b": ["gpt-6-luna", "gpt-6-luna-2026-10-01", "gpt-5-nano", "whisper-9"],
    "vendor-f": ["openai/gpt-6-luna"],
  };
  const catalogue = {
    models: ({ label }: { label: string }) => {
      const list = lists[label];
      if (list) return Promise.resolve(list.map((id) => ({ id })));
      const code = label === "vendor-c" ? "upstream_unreachable" : "vendor_not_configured";
      return Promise.reject(new Fault(code, { message: "away\nstack" }));
    },
  } as unknown as Catalogue;
  const gaps = await findGaps({ registry, prices: pricesWith(), catalogue, publicPrices }, now);
  const of = (label: string) => gaps.find(({ vendor }) => vendor === label)!;
  assert.equal(gaps.length, 7);
  assert.equal(of("vendor-a").state, "not_configured");
  assert.deepEqual([of("vendor-c").state, of("vendor-c").reason], ["unreachable", "away"]);
  assert.deepEqual(of("vendor-f").fallbackPrice, ["openai/gpt-6-luna"]);
  assert.deepEqual(of("vendor-b").fallbackPrice, []);
  const { models, withoutPrice } = of("vendor-b");
  assert.equal(models, 4);
  assert.deepEqual(withoutPrice.map(({ model }) => model), ["gpt-5-nano", "whisper-9"]);
  // What the package has can be pasted into PRICES_FILE.
  assert.equal(withoutPrice[0]!.publicPrice?.rates.input, 50_000n);
  assert.equal(withoutPrice[1]!.publicPrice, undefined);
});

Deno.test("the bundled table has no difference that nobody has explained", () => {
  const { rows, compared, equal, differences } = compareTable(
    { prices: pricesWith(), publicPrices },
    now,
  );
  assert.deepEqual(differences.filter(({ why }) => why === undefined), []);
  assert.ok(rows > 50 && compared > 40 && equal > 20, `${rows} ${compared} ${equal}`);
  assert.equal(new Set(differences.map(({ row }) => row)).size, compared - equal);
});

Deno.test("an operator's row that differs is found, in place of the bundled one", () => {
  const bundled = compareTable({ prices: pricesWith(), publicPrices }, now);
  const prices = pricesWith({
    "openai/gpt-4.1": { input: "2.5", cache_read: "0.5", output: "8", per_web_search: "0.01" },
  });
  const { rows, differences } = compareTable({ prices, publicPrices }, now);
  assert.equal(rows, bundled.rows);
  const open = differences.filter(({ why }) => why === undefined);
  assert.deepEqual(
    open.map(({ row, difference }) => [row.label, row.source, difference.dimension]),
    [["vendor-b", "PRICES_FILE", "input"]],
  );
});

Deno.test("a row is compared at a time at which it is in force, and a past one not at all", () => {
  const hoursFromNow = (hours: number) => new Date(now.getTime() + hours * 3_600_000);
  const [lastMonth, nextMonth] = [hoursFromNow(-720), hoursFromNow(720)];
  const base = pricesWith().rows().find(({ model }) => model === "gpt-4.1")!;
  const dearer = { ...base, rates: { ...base.rates, input: 9n } };
  const comparedAt = (...rows: Partial<typeof base>[]) => {
    const all = rows.map((row) => ({ ...dearer, ...row }));
    const result = compareTable(
      { prices: { ...pricesWith(), rows: () => all }, publicPrices },
      now,
    );
    return result.differences.filter(({ difference }) => difference.dimension === "input")
      .map(({ at }) => at);
  };
  assert.deepEqual(
    comparedAt(
      { validFrom: hoursFromNow(-9_000), validTo: lastMonth },
      { validFrom: lastMonth, validTo: nextMonth },
      { validFrom: nextMonth },
    ),
    [now, nextMonth],
  );
  // Only where both are in force does the operator's row hide the bundled one.
  assert.deepEqual(
    comparedAt({ validFrom: nextMonth, source: "PRICES_FILE" }, { validTo: nextMonth }),
    [nextMonth, now],
  );
});
