import type { Registry } from "./registry.ts";

/** Returns a vendor's common name with its label, `openai (vendor-b)`; other text unchanged. */
export function shownVendor(registry: Pick<Registry, "find">, label: string): string {
  const alias = registry.find(label)?.aliases[0];
  return alias === undefined || alias === label ? label : `${alias} (${label})`;
}

/** Builds the function that maps any of a vendor's names to its label, and keeps other text. */
export function vendorLabelOf(registry: Pick<Registry, "find">): (name: string) => string {
  return (name) => registry.find(name)?.label ?? name;
}
