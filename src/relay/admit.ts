import { didYouMean } from "../base/nearest_names.ts";
import type { Secret } from "../base/secret.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { Prices } from "../pricing/table/prices.ts";
import { permitModel, type RouteDeps } from "../routing/permitted_route.ts";
import { Fault } from "../shared/fault.ts";
import type { Mode } from "../shared/interaction.ts";
import type { KeyPools } from "../vendors/key_pool.ts";
import { type Catalogue, notConfigured } from "../vendors/catalogue.ts";
import { type ResolvedModel, shorten } from "../vendors/model_name.ts";
import type { Vendor } from "../vendors/registry.ts";
import { VendorAccess } from "./vendor_call.ts";
import type { CallContext } from "./call_context.ts";

export interface AccessDeps extends RouteDeps {
  keyPools: Pick<KeyPools, "of">;
}

/**
 * Checks that the caller may use the model, and finds the vendor key for the call. Throws
 * `permission_denied`, or `vendor_not_configured` where there is no key.
 */
export async function accessVendor(
  { routes, storedKeys, keyPools }: AccessDeps,
  caller: CallContext,
  target: ResolvedModel,
): Promise<VendorAccess> {
  permitModel(routes, caller.principal.key, target);
  const { key, mode } = await resolveVendorKey(target.vendor, caller, storedKeys);
  const keyPool = mode === "managed" ? keyPools.of(target.vendor) : undefined;
  return new VendorAccess({ caller, target, key, keyPool, mode });
}

/**
 * Returns the key that came with the request, else the account's stored key, else the service's
 * own. Throws `vendor_not_configured` if there is none.
 */
export async function resolveVendorKey(
  vendor: Vendor,
  caller: Pick<CallContext, "vendorKey" | "principal">,
  storedKeys: Pick<VendorKeyCache, "find">,
): Promise<{ key: Secret; mode: Mode }> {
  if (caller.vendorKey) return { key: caller.vendorKey, mode: "dual_key" };
  const stored = await storedKeys.find(caller.principal.account.id, vendor.label);
  if (stored) return { key: stored, mode: "stored_key" };
  if (vendor.apiKey) return { key: vendor.apiKey, mode: "managed" };
  throw notConfigured(vendor);
}

export interface PriceDeps extends Pick<RouteDeps, "routes"> {
  prices: Prices;
  catalogue: Catalogue;
}

/**
 * Returns the price of a managed call. Throws `model_not_found` where no price is known: such a
 * call could not be charged. Where the vendor's own list has the prices, waits for that list only
 * if `mayWait`.
 */
export async function requirePrice(
  deps: PriceDeps,
  target: ResolvedModel,
  { principal, arrivedAt: at }: Pick<CallContext, "principal" | "arrivedAt">,
  mayWait = true,
): Promise<PriceRow> {
  const find = () => deps.prices.find(target.vendor.label, target.model, at);
  const priced = find();
  if (priced && !priced.fallback) return priced;
  if (target.vendor.listedPrices) {
    // What was wrong with the list is in the log.
    const reading = deps.catalogue.models(target.vendor).catch(() => {});
    // With a fallback price the call does not wait for the list.
    if (!priced && mayWait) await reading;
  }
  const found = find();
  if (found) return found;
  throw new Fault("model_not_found", {
    param: "model",
    message: `model: no price is known for '${shorten(shownId(target))}'.${
      alternativeTo(deps, target, principal.account.id, at)
    }`,
  });
}

/** Says what to call in place of a model without a price. */
function alternativeTo(
  { prices, routes }: Pick<PriceDeps, "prices" | "routes">,
  target: ResolvedModel,
  accountId: number,
  at: Date,
): string {
  const { vendor, model, through } = target;
  const route = through === undefined ? routes.lookUp(accountId, model) : undefined;
  if (route?.isVirtual) {
    return ` '${model}' is a virtual model: call it at /chat/v1, without a vendor.`;
  }
  const other = route?.targets[0].target;
  if (other && other.vendor !== vendor && prices.find(other.vendor.label, other.model, at)) {
    return ` It is a model of another vendor: call '${shownId(other)}' at /chat/v1.`;
  }
  const listed = prices.listed(vendor.label, at).map((row) => row.model);
  return `${
    didYouMean(model, listed, shownId({ vendor, model: "" }))
  } The service cannot bill it. Call it with a vendor key of your own, or ask the operator to add it to PRICES_FILE.`;
}

function shownId({ vendor, model }: Pick<ResolvedModel, "vendor" | "model">): string {
  const { aliases, label } = vendor;
  return `${aliases[0] ?? label}/${model}`;
}
