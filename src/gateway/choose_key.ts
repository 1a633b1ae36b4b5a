import type { Secret } from "../base/secret.ts";
import type { Mode } from "../domain/interaction.ts";
import { notConfigured } from "../vendors/catalogue.ts";
import type { Vendor } from "../vendors/registry.ts";
import type { Caller } from "./caller.ts";

/** Dual-key, then the stored key, then the service's own (spec.md, Authentication modes). */
export function chooseKey(
  vendor: Vendor,
  caller: Pick<Caller, "vendorKey">,
): { key: Secret; mode: Mode } {
  if (caller.vendorKey) return { key: caller.vendorKey, mode: "dual_key" };
  if (vendor.apiKey) return { key: vendor.apiKey, mode: "managed" };
  throw notConfigured(vendor);
}
