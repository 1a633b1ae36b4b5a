import { didYouMean } from "../base/nearest_names.ts";
import { shownVendor } from "./shown_vendor.ts";
import type { Registry, Vendor } from "./registry.ts";

const labels: readonly string[] = ["vendor-a", "vendor-b", "vendor-c", "vendor-d"];

export function vendorsWithStoredKeys(registry: Registry): Vendor[] {
  return registry.all.filter(({ label }) => labels.includes(label));
}

/**
 * Returns the vendor with this label or alias, if keys can be stored for it. Throws an Error of one
 * line for any other.
 */
export function canStoreKeyOf(registry: Registry, name: string): Vendor {
  const vendor = registry.find(name);
  if (vendor && labels.includes(vendor.label)) return vendor;
  const vendors = vendorsWithStoredKeys(registry);
  const names = vendors.map(({ label }) => shownVendor(registry, label));
  const expected = `expected one of ${names.join(", ")}`;
  if (!vendor) {
    const near = didYouMean(name, vendors.flatMap(({ label, aliases }) => [...aliases, label]));
    throw new Error(`${expected}.${near}`);
  }
  if (labels.includes(vendor.sharesWith)) {
    throw new Error(`${vendor.label} uses the key that is stored for ${vendor.sharesWith}`);
  }
  throw new Error(`keys of ${vendor.label} can't be stored: ${expected}`);
}
