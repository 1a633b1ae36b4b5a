import { parseUsd, picoDigits, roundPicoToNano } from "../base/money.ts";
import { type Dimension, inputDimensions, type Part, partsOf } from "./usage_parts.ts";
import type { Usage } from "../shared/usage.ts";

/**
 * Pico-dollars (1e-12 USD) per unit of each dimension: per token, and where the name says so per
 * character, minute, request, image or piece of hosted work. USD per million tokens × 10^6 is this
 * number. Absent means not listed: a cached, reasoning, audio or image part then costs what plain
 * input or output costs; anything else costs nothing.
 */
export type Rates = Partial<Record<Dimension, bigint>> & {
  /** By image: one price, or by `quality/size` such as `hd/1024x1024`. */
  perImage?: bigint | Readonly<Record<string, bigint>>;
};

/** Prices of requests with a long prompt; the whole request moves to them. */
export interface ContextTier {
  /** Tokens of the whole prompt, cached parts included. */
  threshold: number;
  /** True: at or above the threshold; false: above it only. */
  inclusive: boolean;
  /** A dimension not named here keeps the row's own rate. */
  rates: Rates;
}

/** An exact factor: `{ numerator: 1n, denominator: 2n }` is half the price. */
export interface Fraction {
  numerator: bigint;
  denominator: bigint;
}

/**
 * What chat endpoints are known to refuse: `tools` unless reasoning is turned off, or
 * `tools_with_reasoning` only where the call asks for reasoning.
 */
export const chatRefusals = ["tools", "tools_with_reasoning"] as const;
export type ChatRefusal = typeof chatRefusals[number];

export interface PriceRow {
  label: string;
  /** The name as it is sent upstream. */
  model: string;
  rates: Rates;
  contextTiers: readonly ContextTier[];
  /** By the tier that the vendor reports, such as `flex`; applied to token prices only. */
  serviceTiers: Readonly<Record<string, Fraction>>;
  /** By the region that the vendor reports, such as `us`; applied to token prices only. */
  regions?: Readonly<Record<string, Fraction>>;
  maxOutputTokens?: number;
  contextTokens?: number;
  /** What the vendor's chat endpoint refuses of this model; absent: unknown. */
  chatRefuses?: readonly ChatRefusal[];
  /** Half-open: `validFrom` ≤ start of the request < `validTo`. */
  validFrom?: Date;
  validTo?: Date;
  /** Short hash of the prices, so that a record can name them. */
  version: string;
  source: string;
  /** Date `YYYY-MM-DD` on which they were checked there. */
  checkedOn?: string;
  /** A guess on the safe side, used only where no real price is known. */
  fallback?: boolean;
}

/** A number of generated images, with what their price depends on. */
export interface ImageCount {
  count: number;
  quality?: string;
  size?: string;
}

/** Usage, with counts in other units than tokens. */
export interface BillableUsage extends Usage {
  images?: readonly ImageCount[];
  characters?: number;
  /** Seconds of audio, fractions included; billed per minute. */
  seconds?: number;
  /** Vendor requests that were billed; 1 when absent. */
  requests?: number;
}

export function severalRequests(requests: number): { requests?: number } {
  return requests > 1 ? { requests } : {};
}

/** One disjoint part of a call's cost: `count` units at `ratePico`, before any factor. */
export interface CostLine {
  dimension: Dimension | "perImage";
  count: number;
  ratePico: bigint;
  pico: bigint;
}

export interface Cost {
  /** Sum of the lines; whole pico-dollars, rounded down where a factor or a minute is divided. */
  pico: bigint;
  /** `pico` rounded once, half up: what a balance loses. */
  nanos: bigint;
  lines: CostLine[];
}

/**
 * Computes the cost of one call by the table of docs/configuration.md. The context tier follows
 * from the whole prompt, the factor from the service tier and region that the vendor reported.
 * Never negative; the lines are disjoint and sum to `pico`. Rounding down to a pico-dollar before
 * rounding half up to a nano-dollar gives the same as rounding the exact value once.
 */
export function costOf(usage: BillableUsage, row: PriceRow): Cost {
  const parts = partsOf(usage);
  const rates = ratesFor(row, promptTokens(parts));
  const factor = times(
    factorOf(row.serviceTiers, usage.serviceTier),
    factorOf(row.regions, usage.region),
  );
  const charges = parts.map((part) => tokenCharge(part, rates, factor))
    .filter((charge) => charge.units > 0n)
    .concat(otherCharges(usage, rates, factor.denominator));
  const { lines, pico } = allocate(charges, factor.denominator * millisecondsPerMinute);
  return { pico, nanos: roundPicoToNano(pico), lines };
}

/**
 * Returns what the vendor says it charged (`vendorCostUsd`), in nano-dollars, rounded half up;
 * undefined when it reports nothing, or something that isn't an amount. Prefer it to `costOf` for a
 * vendor that reports it.
 */
export function vendorCostNanos(usage: Usage): bigint | undefined {
  if (usage.vendorCostUsd === undefined) return undefined;
  try {
    const options = { allowExponent: true, excess: "down" } as const;
    return roundPicoToNano(parseUsd(usage.vendorCostUsd, picoDigits, options));
  } catch {
    return undefined;
  }
}

/**
 * Returns what one unit of a dimension costs in a request with a prompt of this many tokens, in
 * pico-dollars, before any service tier: the row's own rate, or that of the dimension that stands
 * in for it.
 */
export function rateAt(row: PriceRow, dimension: Dimension, promptTokens: number): bigint {
  return rateOf(ratesFor(row, promptTokens), dimension);
}

/** The facts that bound a request's cost, as far as they are known before it is sent. */
export interface BoundInput extends OtherUsage {
  /** At least as many as the vendor will count. */
  inputTokens: number;
  /** The same if inline pictures count as text; see `InputTokenBounds`. */
  believedInputTokens?: number;
  /** For one choice; see `outputLimit`. */
  maxOutputTokens: number;
  /** Choices asked for (`n`); 1 when absent. */
  choices?: number;
  /** The tier asked for; a discount isn't counted on, since the vendor may not grant it. */
  serviceTier?: string;
  /** The region asked for; as with tiers, a discount isn't counted on. */
  region?: string;
}

/**
 * Upper bound of a call's cost in nano-dollars, for admission: every input token at the dearest
 * input, cache or audio price, every output token at the dearest output price, of every context
 * tier that a prompt of up to `inputTokens` can reach.
 */
export function upperBoundNanos(row: PriceRow, input: BoundInput): bigint {
  // The row's own rates, then those of each tier, completed from the row.
  const reachable = [
    row.rates,
    ...reachedTiers(row, input.inputTokens).map((tier) => mergeRates([row.rates, tier])),
  ];
  const inputRate = costliest(reachable, inputDimensions);
  const outputRate = costliest(reachable, outputDimensions);
  const { numerator, denominator } = times(
    atLeastOnce(factorOf(row.serviceTiers, input.serviceTier)),
    atLeastOnce(factorOf(row.regions, input.region)),
  );
  const tokens = whole(input.inputTokens) * inputRate +
    whole(input.maxOutputTokens) * whole(input.choices ?? 1) * outputRate;
  // Everything else usually costs the same in all tiers, but an operator's row may differ.
  const others = reachable.map((rates) =>
    allocate(otherCharges(input, rates, 1n), millisecondsPerMinute).pico
  );
  const pico = (tokens * numerator + denominator - 1n) / denominator + max(others);
  return roundPicoToNano(pico);
}

/**
 * Output tokens that a bound counts when neither caller nor price sets a limit
 * (docs/configuration.md).
 */
const defaultMaxOutputTokens = 128_000;

/** No model gives more in one answer. */
const maxOutputTokens = 1_000_000;

/**
 * Returns the caller's limit, capped at what the model can give; else the row's, else 128,000
 * tokens. A limit of 0 or less counts as none, as vendors read it.
 */
export function outputLimit(row: PriceRow, requested?: number): number {
  const context = row.contextTokens ?? maxOutputTokens;
  const limit = row.maxOutputTokens;
  if (requested !== undefined && requested > 0) return Math.min(requested, limit ?? context);
  return limit ?? Math.min(defaultMaxOutputTokens, context);
}

/** Whether the row's prices hold at this time. */
export function validAt(row: PriceRow, at: Date): boolean {
  return (row.validFrom === undefined || row.validFrom <= at) &&
    (row.validTo === undefined || at < row.validTo);
}

/** A charge in units of 1/(factor's denominator × 60,000) pico-dollar, to avoid rounding. */
interface Charge {
  dimension: CostLine["dimension"];
  count: number;
  ratePico: bigint;
  units: bigint;
}

/** Hosted work: the dimension of its price, and the field of usage that counts it. */
export const hostedCounts = [
  ["perWebSearch", "webSearches"],
  ["perXSearch", "xSearches"],
  ["perFileSearch", "fileSearches"],
  ["perCodeSession", "codeSessions"],
  ["perMapsQuery", "mapsQueries"],
] as const;

/** The counts in other units than tokens. */
type OtherUsage = Pick<
  BillableUsage,
  "images" | "characters" | "seconds" | "requests" | typeof hostedCounts[number][1]
>;

const millisecondsPerMinute = 60_000n;
/** Cap on the seconds of audio that a vendor may report: some thirty thousand years. */
const maxSeconds = 1e12;
const unchanged: Fraction = { numerator: 1n, denominator: 1n };
const outputDimensions: readonly Dimension[] = [
  "output",
  "reasoning",
  "audioOutput",
  "imageOutput",
];

function tokenCharge(part: Part, rates: Rates, factor: Fraction): Charge {
  const ratePico = rateOf(rates, part.dimension);
  return {
    dimension: part.dimension,
    count: part.count,
    ratePico,
    units: whole(part.count) * ratePico * factor.numerator * millisecondsPerMinute,
  };
}

/**
 * Returns the charges that aren't counted in tokens. No factor applies to them; `unit` only scales
 * them to the unit of all charges.
 */
function otherCharges(usage: OtherUsage, rates: Rates, unit: bigint): Charge[] {
  const charges: Charge[] = [];
  const add = (dimension: CostLine["dimension"], count = 0, ratePico = 0n) => {
    const units = whole(count) * ratePico * millisecondsPerMinute * unit;
    if (units > 0n) charges.push({ dimension, count, ratePico, units });
  };
  add("perRequest", usage.requests ?? 1, rates.perRequest);
  for (const [dimension, count] of hostedCounts) add(dimension, usage[count], rates[dimension]);
  add("perCharacter", usage.characters, rates.perCharacter);
  for (const image of usage.images ?? []) {
    add("perImage", image.count, imageRate(rates.perImage, image));
  }
  const seconds = Math.min(Math.max(0, usage.seconds || 0), maxSeconds);
  const ratePico = rates.perMinute ?? 0n;
  const units = BigInt(Math.ceil(seconds * 1000)) * ratePico * unit;
  if (units > 0n) charges.push({ dimension: "perMinute", count: seconds / 60, ratePico, units });
  return charges;
}

/** The price of `quality/size`, of either alone, else the dearest: an image is never free. */
function imageRate(perImage: Rates["perImage"], image: ImageCount): bigint {
  if (typeof perImage !== "object") return perImage ?? 0n;
  const { quality, size } = image;
  for (const key of [`${quality}/${size}`, size, quality]) {
    const rate = key !== undefined && Object.hasOwn(perImage, key) ? perImage[key] : undefined;
    if (rate !== undefined) return rate;
  }
  return max(Object.values(perImage));
}

/** Rounds the running sum rather than each line, so that the lines add up to the total. */
function allocate(charges: Charge[], divisor: bigint): { lines: CostLine[]; pico: bigint } {
  let units = 0n;
  let pico = 0n;
  const lines = charges.map((charge) => {
    units += charge.units;
    const before = pico;
    pico = units / divisor;
    const { dimension, count, ratePico } = charge;
    return { dimension, count, ratePico, pico: pico - before };
  });
  return { lines, pico };
}

function ratesFor(row: PriceRow, inputTokens: number): Rates {
  return mergeRates([row.rates, ...reachedTiers(row, inputTokens)]);
}

/** Rates of the tiers that the prompt reaches, lowest threshold first. */
function reachedTiers({ contextTiers }: PriceRow, inputTokens: number): readonly Rates[] {
  return contextTiers
    .filter((tier) => tier.inclusive ? inputTokens >= tier.threshold : inputTokens > tier.threshold)
    .toSorted((one, other) => one.threshold - other.threshold)
    .map((tier) => tier.rates);
}

/**
 * Merges the row's own rates with the highest tier's, which win by dimension; lower tiers don't
 * count.
 */
function mergeRates(list: readonly [Rates, ...Rates[]]): Rates {
  return { ...list[0], ...list.at(-1) };
}

function costliest(rates: readonly Rates[], dimensions: readonly Dimension[]): bigint {
  let most = 0n;
  for (const each of rates) {
    for (const dimension of dimensions) {
      const rate = rateOf(each, dimension);
      if (rate > most) most = rate;
    }
  }
  return most;
}

/** The dimension whose price stands in for one without a price of its own. */
const fallbackDimensions: Partial<Record<Dimension, Dimension>> = {
  cacheRead: "input",
  cacheWrite: "input",
  cacheWriteLong: "cacheWrite",
  audioInput: "input",
  imageInput: "input",
  cachedAudioInput: "cacheRead",
  reasoning: "output",
  audioOutput: "output",
  imageOutput: "output",
};

function rateOf(rates: Rates, dimension: Dimension): bigint {
  const rate = rates[dimension];
  if (rate !== undefined) return rate;
  // If cached tokens have no price of their own, cached audio costs what audio does.
  if (dimension === "cachedAudioInput" && rates.cacheRead === undefined) {
    return rateOf(rates, "audioInput");
  }
  const other = fallbackDimensions[dimension];
  return other === undefined ? 0n : rateOf(rates, other);
}

/** Whether a tier costs more than the row's price. */
export function isDearerTier(row: PriceRow, tier: string | undefined): boolean {
  const { numerator, denominator } = factorOf(row.serviceTiers, tier);
  return numerator > denominator;
}

/** The factor of a service tier or region; one that the row doesn't name changes nothing. */
function factorOf(factors: PriceRow["regions"], name: string | undefined): Fraction {
  if (name === undefined || !factors || !Object.hasOwn(factors, name)) return unchanged;
  return factors[name]!;
}

function times(one: Fraction, other: Fraction): Fraction {
  return {
    numerator: one.numerator * other.numerator,
    denominator: one.denominator * other.denominator,
  };
}

function atLeastOnce(factor: Fraction): Fraction {
  return factor.numerator > factor.denominator ? factor : unchanged;
}

function promptTokens(parts: readonly Part[]): number {
  return parts.reduce(
    (sum, part) => inputDimensions.includes(part.dimension) ? sum + part.count : sum,
    0,
  );
}

function max(values: readonly bigint[]): bigint {
  return values.reduce((greatest, value) => value > greatest ? value : greatest, 0n);
}

/**
 * Converts a count to bigint: 0 if negative or NaN, fractions rounded up. Infinity, which a
 * caller's numbers may multiply to, becomes the largest count.
 */
function whole(count: number): bigint {
  if (count === Infinity) return BigInt(Number.MAX_SAFE_INTEGER);
  return count > 0 ? BigInt(Math.ceil(count)) : 0n;
}
