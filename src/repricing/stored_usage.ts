import { parseExactly } from "../base/exact_json.ts";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { DialectQuirks } from "../dialects/kernel/dialect.ts";
import { dialects } from "../dialects/text/mod.ts";
import type { PricedCall } from "../records/analytics_store.ts";
import type { Usage } from "../shared/usage.ts";
import type { Registry } from "../vendors/registry.ts";

/**
 * Returns the usage that a stored call was priced by. Older rows without it have the vendor's own
 * object, which is read again in the dialect in which the vendor was called. Where the columns'
 * totals differ from that, as for an answer that was cut and counted here, the totals count.
 */
export function storedUsage(call: PricedCall, registry: Registry): Usage | undefined {
  if (call.pricedUsageText !== null) return parseExactly(call.pricedUsageText) as Usage;
  if (!call.counts) return undefined;
  const raw = rawUsage(call, registry);
  const { cacheWrite, ...counts } = call.counts;
  return { ...raw, ...counts, ...lifetimes(raw, cacheWrite) };
}

function rawUsage(call: PricedCall, registry: Registry): Usage | undefined {
  const vendor = registry.find(call.vendor);
  if (!vendor || call.usageRawText === null) return undefined;
  const raw = parse(call.usageRawText);
  const own = vendor.dialects.find((name) => name === call.dialect) ?? vendor.dialects[0];
  // A vendor with several dialects may have been called in any of them; each has its own names.
  for (const dialect of [own, ...vendor.dialects]) {
    const usage = dialect && readRawUsage(dialect, raw, vendor.quirks);
    if (usage) return usage;
  }
  return undefined;
}

/**
 * Splits a column that sums up both cache lifetimes, which only the vendor's own object tells
 * apart.
 */
function lifetimes(raw: Usage | undefined, written: number | undefined): Partial<Usage> {
  if (written === undefined) return {};
  const cacheWriteLong = Math.min(raw?.cacheWriteLong ?? 0, written);
  return {
    cacheWrite: written - cacheWriteLong,
    ...(cacheWriteLong > 0 ? { cacheWriteLong } : {}),
  };
}

function parse(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}

/**
 * Reads a vendor's own usage object, as records keep it, into the neutral form; undefined when it
 * holds no numbers. What a dialect reports elsewhere in its answer (the service tier of chat,
 * searches of generate) isn't in it.
 */
export function readRawUsage(
  dialect: DialectName,
  raw: unknown,
  quirks: DialectQuirks,
): Usage | undefined {
  return dialects[dialect].readRawUsage(raw, quirks);
}
