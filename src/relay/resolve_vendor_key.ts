import type { Secret } from "../base/secret.ts";
import type { Mode } from "../shared/interaction.ts";
import { notConfigured } from "../vendors/catalogue.ts";
import type { Vendor } from "../vendors/registry.ts";
import type { Caller } from "./call_context.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";

/** Dual-key, then the stored key, then the service's own (spec.md, Authentication modes). */
export async function resolveVendorKey(
  vendor: Vendor,
  caller: Pick<Caller, "vendorKey" | "principal">,
  storedKeys: Pick<VendorKeyCache, "find">,
): Promise<{ key: Secret; mode: Mode }> {
  if (caller.vendorKey) return { key: caller.vendorKey, mode: "dual_key" };
  const stored = await storedKeys.find(caller.principal.account.id, vendor.label);
  if (stored) return { key: stored, mode: "stored_key" };
  if (vendor.apiKey) return { key: vendor.apiKey, mode: "managed" };
  throw notConfigured(vendor);
}
