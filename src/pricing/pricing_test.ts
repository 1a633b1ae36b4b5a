import assert from "@std/assert";
import { nanosToUsd } from "../base/money.ts";
import {
  type BillableUsage,
  type BoundInput,
  costOf,
  outputLimit,
  type PriceRow,
  type Rates,
  upperBoundNanos,
  validAt,
  vendorCostNanos,
} from "./pricing.ts";

/** Pico-dollars per token of a price in USD per million tokens. */
function perMillion(usd: number): bigint {
  return BigInt(Math.round(usd * 1e6));
}

function row(rates: Rates, more: Partial<PriceRow> = {}): PriceRow {
  return {
    label: "vendor-x",
    model: "model-x",
    rates,
    contextTiers: [],
    serviceTiers: {},
    version: "v",
    source: "test",
    ...more,
  };
}

function rates(input: number, output: number, more: Record<string, number> = {}): Rates {
  const all = { input, output, ...more };
  return Object.fromEntries(Object.entries(all).map(([key, usd]) => [key, perMillion(usd)]));
}

const haiku = row(rates(0.10, 0.50, { cacheRead: 0.01, cacheWrite: 0.125, cacheWriteLong: 0.20 }), {
  contextTiers: [{
    threshold: 100_000,
    inclusive: false,
    rates: rates(0.50, 2.50, { cacheRead: 0.05, cacheWrite: 0.625, cacheWriteLong: 1.00 }),
  }],
});
const sol = row(rates(2, 10, { cacheRead: 0.2, cacheWrite: 2.5 }), {
  contextTiers: [{
    threshold: 272_000,
    inclusive: false,
    rates: rates(4, 15, { cacheRead: 0.4, cacheWrite: 5 }),
  }],
  serviceTiers: {
    flex: { numerator: 1n, denominator: 2n },
    priority: { numerator: 2n, denominator: 1n },
  },
});
const grok = row(rates(2, 6, { cacheRead: 0.5 }), {
  contextTiers: [{ threshold: 200_000, inclusive: true, rates: rates(4, 12, { cacheRead: 1 }) }],
});
const flash = row(rates(0.30, 2.5, { cacheRead: 0.03, audioInput: 1, cachedAudioInput: 0.1 }));

const hdImage = { count: 1, quality: "hd" };

const vectors: [string, BillableUsage, PriceRow, string][] = [
  [
    "written cache tokens are not charged as input too",
    { input: 12307, cacheRead: 0, cacheWrite: 12304, output: 550 },
    row(rates(3, 15, { cacheWrite: 3.75 })),
    "0.054399000",
  ],
  [
    "additive reasoning is output",
    { input: 36, output: 700, reasoning: 690 },
    row(rates(1.25, 2.5)),
    "0.001795000",
  ],
  [
    "§4.3: thoughts are output",
    { input: 20, output: 533, reasoning: 382 },
    row(rates(0.30, 2.5)),
    "0.001338500",
  ],
  [
    "§4.4: a long prompt moves the whole request to the upper tier",
    { input: 300_000, cacheRead: 100_000, output: 1000 },
    sol,
    "0.855000000",
  ],
  [
    "§4.4: exactly at an exclusive threshold the base tier applies",
    { input: 272_000, output: 0 },
    sol,
    "0.544000000",
  ],
  [
    "§4.5: cached tokens count towards the tier",
    { input: 100_001, cacheRead: 99_950, cacheWrite: 1, output: 10 },
    haiku,
    "0.005048125",
  ],
  [
    "§4.6: exactly at an inclusive threshold the upper tier applies",
    { input: 200_000, output: 0 },
    grok,
    "0.800000000",
  ],
  [
    "the highest tier that is reached counts, wherever it stands",
    { input: 300_000, output: 0 },
    row(rates(1, 1), {
      contextTiers: [
        { threshold: 200_000, inclusive: true, rates: rates(4, 4) },
        { threshold: 100_000, inclusive: true, rates: rates(2, 2) },
      ],
    }),
    "1.200000000",
  ],
  ["one below an inclusive threshold", { input: 199_999, output: 0 }, grok, "0.399998000"],
  [
    "cached tokens cost the same whether they came by stream or whole",
    { input: 1000, cacheRead: 800, output: 0 },
    sol,
    "0.000560000",
  ],
  [
    "reasoning beyond the output is no more than the output",
    { input: 0, output: 10, reasoning: 25 },
    sol,
    "0.000100000",
  ],
  [
    "reasoning with a price of its own",
    { input: 0, output: 10, reasoning: 4 },
    row(rates(1, 2, { reasoning: 10 })),
    "0.000052000",
  ],
  [
    "audio is dearer than text and not charged as text too",
    { input: 1000, audioInput: 400, output: 0 },
    flash,
    "0.000580000",
  ],
  [
    "cached audio has its own price",
    { input: 1000, cacheRead: 500, audioInput: 400, cachedAudioInput: 400, output: 0 },
    flash,
    "0.000193000",
  ],
  [
    "cached audio costs what audio does where nothing cached has a price",
    { input: 1000, cacheRead: 400, audioInput: 400, cachedAudioInput: 400, output: 0 },
    row(rates(2.5, 10, { audioInput: 6 })),
    "0.003900000",
  ],
  [
    "a missing cached price is the input price",
    { input: 1000, cacheRead: 800, cacheWrite: 100, cacheWriteLong: 50, output: 0 },
    row(rates(3, 15)),
    "0.003000000",
  ],
  [
    "a missing long write price is the short one",
    { input: 1000, cacheWriteLong: 1000, output: 0 },
    row(rates(3, 15, { cacheWrite: 4 })),
    "0.004000000",
  ],
  [
    "missing audio and image prices are the text prices",
    {
      input: 1000,
      audioInput: 300,
      imageInput: 300,
      output: 100,
      audioOutput: 50,
      imageOutput: 50,
    },
    row(rates(3, 15)),
    "0.004500000",
  ],
  [
    "the tier that the vendor reports sets the factor",
    { input: 1000, output: 100, serviceTier: "flex" },
    sol,
    "0.001500000",
  ],
  [
    "a dearer tier",
    { input: 1000, output: 100, serviceTier: "priority" },
    sol,
    "0.006000000",
  ],
  [
    "a tier without a factor changes nothing",
    { input: 1000, output: 100, serviceTier: "toString" },
    sol,
    "0.003000000",
  ],
  [
    "negative counts cost nothing",
    { input: -100, cacheRead: -5, output: -1, webSearches: -3, seconds: -1 },
    row({ ...rates(3, 15), perWebSearch: 10_000_000_000n, perMinute: 1n }),
    "0.000000000",
  ],
  [
    "web searches, requests and characters",
    { input: 0, output: 0, webSearches: 3, characters: 1_000_000 },
    row({ perWebSearch: 10_000_000_000n, perRequest: 1_000_000_000n, perCharacter: 4_200_000n }),
    "4.231000000",
  ],
  [
    "seconds are billed to the millisecond at the price per minute",
    { input: 0, output: 0, seconds: 90.5 },
    row({ perMinute: 6_000_000_000n }),
    "0.009050000",
  ],
  [
    "no seconds cost nothing",
    { input: 0, output: 0 },
    row({ perMinute: 60_000_000n }),
    "0.000000000",
  ],
  [
    "images by quality and size",
    { input: 0, output: 0, images: [{ count: 2, quality: "hd", size: "1024x1024" }] },
    row({ perImage: { "hd/1024x1024": 80_000_000_000n, "low/1024x1024": 10_000_000_000n } }),
    "0.160000000",
  ],
  [
    "an image of a kind that isn't listed costs as much as the dearest",
    { input: 0, output: 0, images: [{ count: 1, quality: "constructor" }] },
    row({ perImage: { "hd/1024x1024": 80_000_000_000n, "low/1024x1024": 10_000_000_000n } }),
    "0.080000000",
  ],
  [
    "what a tier doesn't name costs as below it",
    { input: 2000, cacheRead: 1000, output: 100 },
    row(rates(3, 15, { cacheRead: 0.3 }), {
      contextTiers: [{ threshold: 1000, inclusive: false, rates: { input: perMillion(6) } }],
    }),
    "0.007800000",
  ],
  [
    "an image costs what its size does, else its quality",
    { input: 0, output: 0, images: [{ count: 1, quality: "hd", size: "small" }, hdImage] },
    row({ perImage: { "hd/large": 90_000_000_000n, hd: 80_000_000_000n, small: 10_000_000_000n } }),
    "0.090000000",
  ],
  [
    "the factors of tier and region multiply, and nothing but tokens has them",
    {
      ...{ input: 1000, output: 100, serviceTier: "flex", region: "us" },
      ...{ seconds: 60, characters: 1000, images: [hdImage] },
    },
    row({
      ...{ ...rates(3, 15), perRequest: 1_000_000_000n, perMinute: 6_000_000_000n },
      ...{ perCharacter: 1_000_000n, perImage: 80_000_000_000n },
    }, {
      serviceTiers: { flex: { numerator: 1n, denominator: 2n } },
      regions: { us: { numerator: 11n, denominator: 10n } },
    }),
    "0.090475000",
  ],
  [
    "a millisecond or character that has begun counts whole",
    { input: 0, output: 0, seconds: 0.0104, characters: 1.5 },
    row({ perMinute: 60_000_000_000_000n, perCharacter: 1_000_000_000n }),
    "0.013000000",
  ],
  [
    "images at one price",
    { input: 0, output: 0, images: [{ count: 3 }] },
    row({
      perImage: 40_000_000_000n,
    }),
    "0.120000000",
  ],
];

for (const [name, usage, priced, usd] of vectors) {
  Deno.test(`cost: ${name}`, () => {
    const cost = costOf(usage, priced);
    assert.equal(nanosToUsd(cost.nanos), usd);
    assert.equal(sum(cost.lines.map((line) => line.pico)), cost.pico);
  });
}

Deno.test("lines name each dimension once with its count and rate", () => {
  const { lines } = costOf(
    { input: 300_000, cacheRead: 100_000, output: 1000, reasoning: 400 },
    sol,
  );
  assert.deepEqual(lines, [
    { dimension: "input", count: 200_000, ratePico: 4_000_000n, pico: 800_000_000_000n },
    { dimension: "cacheRead", count: 100_000, ratePico: 400_000n, pico: 40_000_000_000n },
    { dimension: "output", count: 600, ratePico: 15_000_000n, pico: 9_000_000_000n },
    { dimension: "reasoning", count: 400, ratePico: 15_000_000n, pico: 6_000_000_000n },
  ]);
});

Deno.test("a line of sound counts minutes", () => {
  assert.deepEqual(costOf({ input: 0, output: 0, seconds: 90 }, row({ perMinute: 6n })).lines, [
    { dimension: "perMinute", count: 1.5, ratePico: 6n, pico: 9n },
  ]);
});

Deno.test("fractions of a pico-dollar are not lost line by line", () => {
  // Half of an odd rate per token, four lines: 0.5 + 0.5 + 0.5 + 0.5 pico-dollars are 2, not 0.
  const odd = row({ input: 1n, cacheRead: 1n, cacheWrite: 1n, output: 1n }, {
    serviceTiers: { flex: { numerator: 1n, denominator: 2n } },
  });
  const cost = costOf(
    { input: 3, cacheRead: 1, cacheWrite: 1, output: 1, serviceTier: "flex" },
    odd,
  );
  assert.equal(cost.pico, 2n);
  assert.equal(sum(cost.lines.map((line) => line.pico)), 2n);
});

Deno.test("the sum is rounded once, half up", () => {
  const tiny = row({ input: 250n, output: 249n });
  assert.equal(costOf({ input: 1, output: 1 }, tiny).nanos, 0n);
  assert.equal(costOf({ input: 2, output: 0 }, tiny).nanos, 1n);
});

Deno.test("any usage: never negative, lines sum, more tokens never cost less, the bound holds", () => {
  const random = randomNumbers(20261121);
  const rows = [haiku, sol, grok, flash, row(rates(3, 15, { reasoning: 20, imageInput: 9 }))];
  for (let round = 0; round < 4_000; round++) {
    const priced = rows[round % rows.length] ?? haiku;
    const usage = randomUsage(random);
    const cost = costOf(usage, priced);
    const context = JSON.stringify({ usage, rates: Object.keys(priced.rates) });
    assert.ok(cost.pico >= 0n && cost.lines.every((line) => line.pico >= 0n), context);
    assert.equal(sum(cost.lines.map((line) => line.pico)), cost.pico, context);
    assert.ok(costOf({ ...usage, input: usage.input + 1 }, priced).pico >= cost.pico, context);
    assert.ok(costOf({ ...usage, output: usage.output + 1 }, priced).pico >= cost.pico, context);
    const bound = upperBoundNanos(priced, {
      inputTokens: usage.input,
      maxOutputTokens: usage.output,
      ...usage.serviceTier === undefined ? {} : { serviceTier: usage.serviceTier },
    });
    assert.ok(bound >= cost.nanos, context);
  }
});

Deno.test("the bound takes the worst cache price of the tiers within reach and every choice", () => {
  const bound = (inputTokens: number, more = {}) =>
    nanosToUsd(upperBoundNanos(haiku, { inputTokens, maxOutputTokens: 1000, ...more }));
  assert.equal(bound(100_000), "0.020500000");
  assert.equal(bound(100_001), "0.102501000");
  assert.equal(bound(100_000, { choices: 3 }), "0.021500000");
  const sols = (serviceTier: string) =>
    nanosToUsd(upperBoundNanos(sol, { inputTokens: 1000, maxOutputTokens: 100, serviceTier }));
  assert.equal(sols("flex"), "0.003500000");
  assert.equal(sols("priority"), "0.007000000");
});

Deno.test("the bound multiplies the factors that cost more, and rounds up", () => {
  const priced = row({ ...rates(3, 15), perRequest: 1_000_000n }, {
    serviceTiers: { priority: { numerator: 2n, denominator: 1n } },
    regions: { us: { numerator: 11n, denominator: 10n } },
  });
  const input = { inputTokens: 1, maxOutputTokens: 1, serviceTier: "priority", region: "us" };
  assert.equal(upperBoundNanos(priced, input), 39_600n + 1000n);
  const odd = row({ input: 333n }, { regions: { us: { numerator: 3n, denominator: 2n } } });
  assert.equal(upperBoundNanos(odd, { inputTokens: 1, maxOutputTokens: 0, region: "us" }), 1n);
});

Deno.test("numbers that multiply to infinity are held as the largest count, not as none", () => {
  const bound = (input: Pick<BoundInput, "inputTokens" | "maxOutputTokens">) =>
    upperBoundNanos(haiku, input);
  const most = bound({ inputTokens: 0, maxOutputTokens: Number.MAX_SAFE_INTEGER });
  assert.equal(bound({ inputTokens: 0, maxOutputTokens: 1e308 * 10 }), most);
  assert.ok(bound({ inputTokens: 1e308 * 10, maxOutputTokens: 0 }) > 1_000_000_000_000n);
  const pictures = row({ perImage: 40_000_000_000n });
  const images = [{ count: 20 * 1e308 }];
  assert.ok(
    upperBoundNanos(pictures, { inputTokens: 0, maxOutputTokens: 0, images }) > 1_000_000_000_000n,
  );
});

Deno.test("the bound counts audio prices, and other units", () => {
  const input = { inputTokens: 1000, maxOutputTokens: 0 };
  assert.equal(nanosToUsd(upperBoundNanos(flash, input)), "0.001000000");
  const media = row({ perRequest: 1_000_000_000n, perImage: { hd: 7_000_000_000n, low: 1n } });
  assert.equal(
    nanosToUsd(upperBoundNanos(media, { ...input, images: [{ count: 2, quality: "odd" }] })),
    "0.015000000",
  );
});

Deno.test("the caller's output limit counts first, then the row's, then 128,000", () => {
  const limited = row({}, { maxOutputTokens: 64_000 });
  assert.equal(outputLimit(limited, 1), 1);
  assert.equal(outputLimit(limited), 64_000);
  assert.equal(outputLimit(row({})), 128_000);
});

Deno.test("a limit beyond what the model can give counts as that, and one of nothing as none", () => {
  const limited = row({}, { maxOutputTokens: 64_000, contextTokens: 200_000 });
  const small = row({}, { contextTokens: 32_000 });
  for (const enormous of [1e9, Number.MAX_SAFE_INTEGER, 1e300]) {
    assert.equal(outputLimit(limited, enormous), 64_000);
    assert.equal(outputLimit(small, enormous), 32_000);
    assert.equal(outputLimit(row({}), enormous), 1_000_000);
  }
  for (const nothing of [0, -5]) {
    assert.equal(outputLimit(limited, nothing), 64_000);
    assert.equal(outputLimit(small, nothing), 32_000);
    assert.equal(outputLimit(row({}), nothing), 128_000);
  }
});

Deno.test("a row holds from its first instant to before its end", () => {
  const dated = row({}, {
    validFrom: new Date("2026-12-01T00:00:00Z"),
    validTo: new Date("2027-01-01T00:00:00Z"),
  });
  assert.equal(validAt(dated, new Date("2026-11-30T23:59:59.999Z")), false);
  assert.equal(validAt(dated, new Date("2026-12-01T00:00:00Z")), true);
  assert.equal(validAt(dated, new Date("2026-12-31T23:59:59.999Z")), true);
  assert.equal(validAt(dated, new Date("2027-01-01T00:00:00Z")), false);
  assert.equal(validAt(row({}), new Date(0)), true);
});

Deno.test("the vendor's own cost is read exactly, and an invalid one is ignored", () => {
  const cost = (vendorCostUsd: string) => vendorCostNanos({ input: 1, output: 1, vendorCostUsd });
  assert.equal(cost("0.00014"), 140_000n);
  assert.equal(cost("1.4e-7"), 140n);
  assert.equal(cost("0.0000000004999999"), 0n);
  assert.equal(cost("0.0000000005"), 1n);
  assert.equal(cost("0"), 0n);
  assert.equal(cost("-1"), undefined);
  assert.equal(cost("free"), undefined);
  assert.equal(vendorCostNanos({ input: 1, output: 1 }), undefined);
});

function sum(values: bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}

/** Park and Miller's generator, so that a failure can be repeated. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = state * 48_271 % 2_147_483_647;
    return state % below;
  };
}

/** Parts inside their totals, as a consistent vendor reports them. */
function randomUsage(random: (below: number) => number): BillableUsage {
  const input = random(400_000);
  const cacheRead = random(input + 1);
  const cacheWrite = random(input - cacheRead + 1);
  const output = random(10_000);
  return {
    input,
    cacheRead,
    cacheWrite,
    output,
    ...random(2) === 0 ? { reasoning: random(output + 1) } : {},
    ...random(3) === 0 ? { audioInput: random(Math.floor(input / 2) + 1) } : {},
    ...random(3) === 0 ? { imageInput: random(Math.floor(input / 2) + 1) } : {},
    ...random(3) === 0 ? { serviceTier: ["flex", "priority", "default"][random(3)] ?? "" } : {},
  };
}
