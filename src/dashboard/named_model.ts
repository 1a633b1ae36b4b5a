import type { PageContext } from "./bind.tsx";
import { readModelName, vendorName } from "./vendor_names.ts";

/**
 * Returns the filters for a model that is named as pages name it, `openai/gpt-5-mini`: its vendor
 * and its name at this vendor, as records have them. Undefined for other names, and if stored calls
 * (of the chosen vendor, if any) have exactly this one, as those of OpenRouter's `openai/gpt-4o` do.
 */
export async function namedModel(
  ctx: Pick<PageContext, "interactions" | "vendorNames">,
  accountId: number,
  { model = "", vendor = "" }: { model?: string | undefined; vendor?: string | undefined },
): Promise<{ vendor: string; model: string } | undefined> {
  const nameOf = (label: string) => vendorName(ctx.vendorNames, label);
  const named = readModelName(ctx.vendorNames, model);
  if (!named || vendor !== "" && nameOf(vendor) !== nameOf(named.vendor)) return undefined;
  await ctx.interactions.flushRecords({ accountId });
  const filters = { model: [model], ...(vendor === "" ? {} : { vendor: [vendor] }) };
  // One page, though it may end early: a link must not read all calls of a vendor.
  const { rows } = await ctx.interactions.interactions.page({
    ...{ accountId, filters, order: "newest", limit: 1 },
  });
  return rows.length > 0 ? undefined : named;
}
