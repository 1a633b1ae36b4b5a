import type { Registry } from "./registry.ts";

/**
 * Returns a vendor's common name with its label, `openai (vendor-b)`; text that is no label as it
 * is.
 */
export function shownVendor(registry: Pick<Registry, "find">, label: string): string {
  const alias = registry.find(label)?.aliases[0];
  return alias === undefined || alias === label ? label : `${alias} (${label})`;
}

/** Maps any of a vendor's names to its label; other text stays as it is. */
export function vendorLabelOf(registry: Pick<Registry, "find">): (name: string) => string {
  return (name) => registry.find(name)?.label ?? name;
}
