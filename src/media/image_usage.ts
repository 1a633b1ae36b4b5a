import { nanosToUsd } from "../base/money.ts";
import { optionalField } from "../dialects/kernel/fields.ts";
import type { EncodedImages, ImageAnswer, ImageAsk } from "../dialects/kernel/image_codec.ts";
import { imageTokens } from "../dialects/kernel/image_tokens.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import type { BillingBasis } from "../shared/interaction.ts";
import { type BillableUsage, type PriceRow, vendorCostNanos } from "../pricing/pricing.ts";
import type { Usage } from "../shared/usage.ts";

/** The usage of the answers that have images, and whether the vendor reported it. */
export function imageUsage(
  answers: readonly ImageAnswer[],
  { ask, encoded, price, ignoresCost = false }: {
    ask: ImageAsk;
    encoded: EncodedImages;
    price: PriceRow | undefined;
    /** What the vendor says that it charged isn't believed. */
    ignoresCost?: boolean;
  },
): { usage: BillableUsage; basis: BillingBasis } {
  const made = answers.reduce((sum, { images }) => sum + images.length, 0);
  const images = [{ ...encoded.priced, count: made }];
  const usages = (list: readonly ImageAnswer[]) => list.flatMap(({ usage }) => usage ?? []);
  // Of a picture tokens or a cost must be reported.
  const isReported = ({ usage }: ImageAnswer) =>
    usage !== undefined &&
    (usage.output > 0 || (!ignoresCost && usage.vendorCostUsd !== undefined));
  const unreported = answers.filter((one) => !isReported(one));
  // With a price per image, the number of images is the usage.
  const isCountEnough = price?.rates.perImage !== undefined || encoded.tokensPerImage === 0;
  if (unreported.length === 0 || isCountEnough) {
    return {
      usage: { ...summed(usages(answers)), images },
      basis: "reported",
    };
  }
  const { quality, size } = encoded.priced;
  const perImage = Math.min(encoded.tokensPerImage, imageTokens(quality, size));
  const estimates = unreported.map(({ images, usage }) => {
    const output = images.length * perImage;
    return { input: estimateTokens(ask.prompt), output, imageOutput: output, raw: usage?.raw };
  });
  const all = summed([...usages(answers.filter(isReported)), ...estimates]);
  return { usage: { ...all, images }, basis: "estimated" };
}

const counts = ["input", "output", "cacheRead", "imageInput", "imageOutput", "reasoning"] as const;

/** The sum over several calls; that of a single call is as reported. */
function summed(list: readonly Usage[]): Usage {
  const [first, ...others] = list;
  if (first && others.length === 0) return first;
  const raw = list.flatMap((usage) => usage.raw ?? []);
  const sum: Usage = {
    input: 0,
    output: 0,
    ...optionalField("vendorCostUsd", summedCost(list)),
    ...(raw.length > 0 ? { raw } : {}),
  };
  for (const usage of list) {
    for (const name of counts) {
      if (usage[name] !== undefined) sum[name] = (sum[name] ?? 0) + usage[name];
    }
  }
  return sum;
}

/** Undefined where a call names no cost: those of the others are not what all cost. */
function summedCost(list: readonly Usage[]): string | undefined {
  const costs = list.map(vendorCostNanos).filter((nanos) => nanos !== undefined);
  if (list.length === 0 || costs.length < list.length) return undefined;
  return nanosToUsd(costs.reduce((total, nanos) => total + nanos, 0n));
}
