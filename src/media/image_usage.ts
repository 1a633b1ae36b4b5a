import { nanosToUsd } from "../base/money.ts";
import { optionalField } from "../dialects/kernel/fields.ts";
import type { EncodedImages, ImageAsk } from "../dialects/kernel/image_codec.ts";
import { framesOf, imageTokens } from "../dialects/kernel/image_tokens.ts";
import {
  isHalfReported,
  reportsTrustedCost,
  withMissingTotal,
} from "../dialects/kernel/reported_tokens.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import type { BillingBasis } from "../shared/interaction.ts";
import {
  type BillableUsage,
  type PriceRow,
  severalRequests,
  vendorCostNanos,
} from "../pricing/pricing.ts";
import type { Usage } from "../shared/usage.ts";

/** The pictures of one vendor request, and what the vendor reported of them. */
export interface BillableImages {
  readonly count: number;
  readonly usage?: Usage | undefined;
  /** The answer broke off: `count` is what was asked for. */
  readonly isBroken?: boolean;
}

/** Returns the usage of the pictures that are paid for, and whether the vendor reported it. */
export function imageUsage(
  billable: readonly BillableImages[],
  { ask, encoded, price, ignoresCost = false }: {
    ask: ImageAsk;
    encoded: EncodedImages;
    price: PriceRow | undefined;
    /** The cost that the vendor reports isn't trusted. */
    ignoresCost?: boolean;
  },
): { usage: BillableUsage; basis: BillingBasis } {
  const images = [{
    ...encoded.priced,
    count: billable.reduce((sum, { count }) => sum + count, 0),
  }];
  const counted = { images, ...severalRequests(billable.length) };
  const usages = (list: readonly BillableImages[]) => list.map(({ usage = none }) => usage);
  const hasCost = ({ usage }: BillableImages) => reportsTrustedCost(usage, ignoresCost);
  // With a price per image, the number of images is the usage. A broken list doesn't tell the
  // number.
  const isCountEnough = price?.rates.perImage !== undefined || encoded.tokensPerImage === 0;
  if (isCountEnough) {
    const isReported = billable.every((one) => !one.isBroken || hasCost(one));
    const usage = { ...summed(usages(billable)), ...counted };
    return { usage, basis: isReported ? "reported" : "estimated" };
  }
  // With a price per token, tokens or a cost must be reported.
  const isReported = (one: BillableImages) =>
    hasCost(one) || ((one.usage?.output ?? 0) > 0 && !isHalfReported(one.usage, one.count));
  const unreported = billable.filter((one) => !isReported(one));
  if (unreported.length === 0) {
    return { usage: { ...summed(usages(billable)), ...counted }, basis: "reported" };
  }
  const perImage = likelyImageTokens(ask, encoded);
  const estimates = unreported.map(({ count, usage }) => {
    const output = count * perImage;
    const estimate = { input: estimateTokens(ask.prompt), output, imageOutput: output };
    if (usage && isHalfReported(usage, count)) return withMissingTotal(usage, estimate);
    return { ...estimate, raw: usage?.raw };
  });
  const all = summed([...usages(billable.filter(isReported)), ...estimates]);
  return { usage: { ...all, ...counted }, basis: "estimated" };
}

/** Estimates the output tokens of a picture whose vendor doesn't count them. */
export function likelyImageTokens(
  { options }: Pick<ImageAsk, "options">,
  { tokensPerImage, priced: { quality, size } }: Pick<EncodedImages, "tokensPerImage" | "priced">,
): number {
  return Math.min(tokensPerImage, framesOf(options) * imageTokens(quality, size));
}

/** The usage of an answer that has none. */
const none: Usage = { input: 0, output: 0 };

const counts = ["input", "output", "cacheRead", "imageInput", "imageOutput", "reasoning"] as const;

/** Sums the usage of several vendor requests; the usage of a single request stays as reported. */
function summed(list: readonly Usage[]): Usage {
  const [first, ...others] = list;
  if (first && others.length === 0) return first;
  const raw = list.flatMap((usage) => usage.raw ?? []);
  const sum: Usage = {
    input: 0,
    output: 0,
    ...optionalField("vendorCostUsd", summedCost(list)),
    ...tiersOf(list),
    ...(raw.length > 0 ? { raw } : {}),
  };
  for (const usage of list) {
    for (const name of counts) {
      if (usage[name] !== undefined) sum[name] = (sum[name] ?? 0) + usage[name];
    }
  }
  return sum;
}

/** The tier of all requests; if they report different ones, each is priced by its own. */
function tiersOf(list: readonly Usage[]): Pick<Usage, "serviceTier" | "otherModels"> {
  const tiered = list.filter(({ serviceTier }) => serviceTier !== undefined);
  const tiers = new Set(tiered.map(({ serviceTier }) => serviceTier));
  if (tiers.size > 1) return { otherModels: tiered.map((usage) => ({ usage })) };
  return optionalField("serviceTier", tiered[0]?.serviceTier);
}

/** Undefined if one of the requests reports no cost: the sum of the others would be too low. */
function summedCost(list: readonly Usage[]): string | undefined {
  const costs = list.map(vendorCostNanos).filter((nanos) => nanos !== undefined);
  if (list.length === 0 || costs.length < list.length) return undefined;
  return nanosToUsd(costs.reduce((total, nanos) => total + nanos, 0n));
}
