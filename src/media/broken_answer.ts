import { utf8Text } from "../base/bytes.ts";
import { wholeMembers } from "../base/mend_json.ts";
import { withoutPictures } from "../dialects/kernel/picture_text.ts";
import { reportsTrustedCost } from "../dialects/kernel/reported_tokens.ts";
import type { BillableUsage } from "../pricing/pricing.ts";
import type { VendorCallContext } from "../relay/vendor_call.ts";
import { chargesReport } from "../vendors/reported_cost.ts";

/** Answers that are longer than this, without their pictures, aren't read. */
const maxRead = 1024 * 1024;

/**
 * Returns the usage that the vendor reported in a whole answer that broke off. It comes after the
 * pictures or vectors, so they were made. `usageOf` reads it from the members that are complete,
 * and may throw. Undefined where the report doesn't determine the cost.
 */
export function usageBeforeBreak(
  bytes: Uint8Array,
  { price, target: { vendor } }: Pick<VendorCallContext, "price" | "target">,
  usageOf: (answer: unknown) => BillableUsage | undefined,
): BillableUsage | undefined {
  const text = withoutPictures(utf8Text(bytes));
  if (text.length > maxRead) return undefined;
  const usage = attempt(() => usageOf(wholeMembers(text)));
  if (!usage) return undefined;
  const { input, output, seconds = 0 } = usage;
  if (reportsTrustedCost(usage, !chargesReport(vendor, price))) return usage;
  // A price per image needs the number of images, which a broken list doesn't tell.
  return price?.rates.perImage === undefined && input + output + seconds > 0 ? usage : undefined;
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
