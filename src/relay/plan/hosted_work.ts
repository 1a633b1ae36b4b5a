import type { HostedTool, HostedWork, VendorState } from "../../dialects/kernel/hosted.ts";
import { Fault } from "../../shared/fault.ts";
import {
  hostedCounts,
  outputLimit,
  type PriceRow,
  upperBoundNanos,
} from "../../pricing/pricing.ts";
import { dimensionWords } from "../../pricing/table/price_words.ts";
import type { RequestFacts } from "../../dialects/kernel/dialect.ts";

/** What decides whether a managed call's hosted work can be charged. */
export interface ChargingTerms {
  price: PriceRow;
  /** The price of another model of the same vendor. */
  priceOf: (model: string) => PriceRow | undefined;
  /** The vendor reports what it charged: its tools need no price here. */
  admitsUnpriced: boolean;
}

/** What hosted work can add to the cost of a call at most. */
export interface HostedBound {
  /** Uses by the field of the usage that counts them. */
  readonly uses: Readonly<Partial<Record<HostedCount, number>>>;
  /** Prompt tokens that tools' results add. */
  readonly inputTokens: number;
  /** Prompt tokens of media that the vendor fetches. */
  readonly fetchedTokens: number;
  readonly region?: string;
  /** Uses that only the vendor knows the price of. */
  readonly unlistedUses: number;
  readonly models: readonly HostedModel[];
}

/** Another model that takes part in a call. */
export interface HostedModel {
  readonly price: PriceRow;
  readonly role: "instead" | "besides";
  readonly uses: number;
  /** Per use; absent: the limit of the whole request. */
  readonly maxOutputTokens?: number;
}

type HostedCount = typeof hostedCounts[number][1];

/** How many uses of one tool a bound assumes where the caller sets no limit. */
const usualUses = 5;
/**
 * How many prompt tokens a bound assumes for the results of one use: twenty pieces of 800 tokens.
 */
const usualTokensPerUse = 16_000;

/**
 * Refuses to use state in the vendor's account: under the service's key it would be open to every
 * account, and our erasure doesn't reach it.
 */
export function refuseState(state: readonly VendorState[]): void {
  const [first] = state;
  if (!first) return;
  const { path, details } = first;
  throw new Fault("unsupported_parameter", {
    param: path,
    message: `${path}: state in the vendor's account can't be used with the service's own key. ` +
      "Leave it out, or call with a vendor key of your own.",
    ...(details ? { details } : {}),
  });
}

/**
 * Refuses all hosted work of a managed call that costs more than the model's tokens, where its
 * usage doesn't tell what was used.
 */
export function refuseHosted({ state, tools, tier }: HostedWork, admitsUnpriced: boolean): void {
  refuseState(state);
  if (admitsUnpriced) return;
  const tool = tools.find(({ cost }) => cost.type !== "none");
  if (tool) throw costUnknown(tool.path, tool.name);
  if (tier && !plainTiers.has(tier.name)) throw costUnknown(tier.path, tier.name);
}

/**
 * Returns the most prompt tokens that hosted work adds: those of tools' results, and of media that
 * the vendor fetches.
 */
export function hostedTokens({ tools, maxUses, fetchedTokens = 0 }: HostedWork): number {
  return tools.reduce((sum, tool) => sum + resultTokens(tool, maxUses), fetchedTokens);
}

/**
 * Returns what the hosted work of a managed call adds to its bound. Throws `unsupported_parameter`
 * for a tool without a price: it could not be charged. `shown` gives a field's name in the caller's
 * request.
 */
export function chargeHosted(
  work: HostedWork,
  terms: ChargingTerms,
  shown: (path: string) => string,
): HostedBound {
  const { region, tier } = work;
  if (tier && !isPriced(tier.name, terms)) {
    throw unpriced(shown(tier.path), `'${tier.name.slice(0, 40)}'`, "service_tiers");
  }
  if (region && !hasPrice(terms.price.regions, region.name) && !terms.admitsUnpriced) {
    throw unpriced(shown(region.path), `region '${region.name.slice(0, 40)}'`, "regions");
  }
  const uses: Partial<Record<HostedCount, number>> = {};
  const models: HostedModel[] = [];
  let inputTokens = 0;
  let unlistedUses = 0;
  for (const tool of work.tools) {
    const count = usesOf(tool, work.maxUses);
    const { cost } = tool;
    if (cost.type === "model") {
      const price = terms.priceOf(cost.model);
      // The vendor reports the tokens of another model's work, and no number of images.
      const isByImage = price?.rates.perImage !== undefined;
      if (!price || isByImage) {
        const row = isByImage ? "a row with prices by the token" : "a row";
        throw unpriced(shown(tool.path), `model '${cost.model.slice(0, 100)}'`, row);
      }
      const { role, maxOutputTokens } = cost;
      models.push({ price, role, uses: count, ...(maxOutputTokens ? { maxOutputTokens } : {}) });
    } else if (cost.type === "unknown" && !terms.admitsUnpriced) {
      throw costUnknown(shown(tool.path), tool.name);
    } else if (cost.type === "per-use") {
      const isListed = terms.price.rates[cost.dimension] !== undefined;
      if (!isListed && !terms.admitsUnpriced) {
        throw unpriced(
          shown(tool.path),
          `'${tool.name.slice(0, 60)}'`,
          dimensionWords[cost.dimension],
        );
      }
      const counted = hostedCounts.find(([dimension]) => dimension === cost.dimension)![1];
      if (isListed) uses[counted] = (uses[counted] ?? 0) + count;
      else unlistedUses += count;
    } else if (cost.type === "unknown") {
      unlistedUses += count;
    }
    inputTokens += resultTokens(tool, work.maxUses);
  }
  const { fetchedTokens = 0 } = work;
  return {
    ...{ uses, inputTokens, fetchedTokens, unlistedUses, models },
    ...(region ? { region: region.name } : {}),
  };
}

/** Refuses work that only the vendor knows the cost of. */
function costUnknown(param: string, name: string): Fault {
  return new Fault("unsupported_parameter", {
    param,
    message: `${param}: the cost of '${name.slice(0, 60)}' can't be determined, so ` +
      "it can't be used with the service's own key. Call with a vendor key of your own.",
  });
}

/** Returns the most prompt tokens that a tool's results add. */
function resultTokens(tool: HostedTool, maxOfAll: number | undefined): number {
  return isFed(tool) ? usesOf(tool, maxOfAll) * (tool.tokensPerUse ?? usualTokensPerUse) : 0;
}

/** Whether the vendor feeds a tool's results back into the prompt. */
function isFed({ cost, tokensPerUse, name }: HostedTool): boolean {
  if (cost.type === "model") return cost.role === "besides" && tokensPerUse === undefined;
  return cost.type !== "none" || tokensPerUse !== undefined || loops.has(name);
}

/** Tools without a price per use, whose results may add many prompt tokens. */
const loops: ReadonlySet<string> = new Set([
  "mcp",
  "mcp_toolset",
  "mcpServers",
  "codeExecution",
  "urlContext",
]);

function usesOf({ maxUses }: HostedTool, maxOfAll: number | undefined): number {
  return Math.min(maxUses ?? maxOfAll ?? usualUses, maxOfAll ?? Infinity, maxCountedUses);
}

/** The most uses of a tool in one call. */
const maxCountedUses = 1000;

/** Tiers that cost the row's price or less. */
const plainTiers: ReadonlySet<string> = new Set([
  "auto",
  "default",
  "standard",
  "standard_only",
  "flex",
  "batch",
  "on_demand",
  "unspecified",
  "service_tier_unspecified",
]);

function isPriced(tier: string, { price, admitsUnpriced }: ChargingTerms): boolean {
  return admitsUnpriced || plainTiers.has(tier) || hasPrice(price.serviceTiers, tier);
}

/** Looks at own properties only: the name is the caller's, and every object has a `constructor`. */
function hasPrice(factors: PriceRow["regions"], name: string): boolean {
  return factors !== undefined && Object.hasOwn(factors, name);
}

function unpriced(param: string, what: string, field: string): Fault {
  return new Fault("unsupported_parameter", {
    param,
    message: `${param}: the service has no price for ${what} with this model, so it can't ` +
      `be used with the service's own key. Call with a vendor key of your own, or ask the operator to add ${field} to PRICES_FILE.`,
  });
}

/** The model that draws pictures for the requested one, and likely tokens of each of them. */
export interface DrawingModel {
  readonly model: string;
  readonly tokensPerPicture: number;
}

/** Undefined if the requested model draws its pictures itself. */
export function drawingModel(hosted: HostedWork | undefined): DrawingModel | undefined {
  for (const { cost } of hosted?.tools ?? []) {
    if (cost.type !== "model" || cost.tokensPerPicture === undefined) continue;
    return { model: cost.model, tokensPerPicture: cost.tokensPerPicture };
  }
  return undefined;
}

/** Searches that the vendor bills but does not report in its usage. */
export function unreportedSearches(hosted: HostedWork | undefined): number {
  return (hosted?.tools ?? []).reduce((sum, tool) => sum + (tool.unreportedSearches ?? 0), 0);
}

/**
 * Upper bound in nano-dollars for one use of a tool whose price only the vendor knows: the
 * aggregator's web plugin takes 4 USD per 1,000 results, five to a use.
 */
const unlistedUseNanos = 20_000_000n;

/**
 * Returns the upper bound of a call's cost in nano-dollars: the tokens of the request's text,
 * hosted tools by use and the prompt tokens of their results, and other models. Where one of
 * several models answers, the dearest counts; models that work besides are added.
 */
export function boundOf(
  price: PriceRow,
  facts: RequestFacts,
  inputTokens: number,
  hosted: HostedBound,
): bigint {
  const bound = (row: PriceRow, more: HostedBound, limit = facts.maxOutputTokens) =>
    boundOfModel(row, { ...facts, maxOutputTokens: limit }, inputTokens, more);
  // Other models use no tools.
  const alone = { ...noHostedWork, fetchedTokens: hosted.fetchedTokens };
  let dearest = bound(price, hosted);
  let besides = BigInt(hosted.unlistedUses) * unlistedUseNanos;
  for (const { price: row, role, uses, maxOutputTokens } of hosted.models) {
    if (role === "besides") besides += BigInt(uses) * bound(row, alone, maxOutputTokens);
    else dearest = [dearest, bound(row, hosted)].reduce((a, b) => a > b ? a : b);
  }
  return dearest + besides;
}

/** A call without tools, and without media that the vendor fetches. */
export const noHostedWork: HostedBound = {
  uses: {},
  inputTokens: 0,
  fetchedTokens: 0,
  unlistedUses: 0,
  models: [],
};

/** Returns the most output tokens that a call can have. */
export function outputBound(
  price: PriceRow,
  { maxOutputTokens, choices }: Pick<RequestFacts, "maxOutputTokens" | "choices">,
): { perChoice: number; choices: number } {
  // `maxOutputTokens` is for all choices together.
  const asked = maxOutputTokens === undefined
    ? undefined
    : Math.ceil(maxOutputTokens / Math.max(1, choices));
  return { perChoice: outputLimit(price, asked), choices };
}

function boundOfModel(
  price: PriceRow,
  facts: RequestFacts,
  inputTokens: number,
  hosted: HostedBound,
): bigint {
  const { serviceTier } = facts;
  const { perChoice, choices } = outputBound(price, facts);
  return upperBoundNanos(price, {
    // The vendor refuses what doesn't fit the model's context.
    inputTokens: hosted.inputTokens +
      Math.min(inputTokens + hosted.fetchedTokens, price.contextTokens ?? Infinity),
    ...hosted.uses,
    ...(hosted.region === undefined ? {} : { region: hosted.region }),
    maxOutputTokens: perChoice,
    choices,
    ...(serviceTier === undefined ? {} : { serviceTier }),
  });
}
