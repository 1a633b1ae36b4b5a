import type { Registry } from "./registry.ts";

/** `openai (vendor-b)`: the name that people know with the label; other words as they are. */
export function shownVendor(registry: Pick<Registry, "find">, label: string): string {
  const alias = registry.find(label)?.aliases[0];
  return alias === undefined || alias === label ? label : `${alias} (${label})`;
}

/** A vendor's label by any of its names; other words as they are. */
export function vendorLabelOf(registry: Pick<Registry, "find">): (name: string) => string {
  return (name) => registry.find(name)?.label ?? name;
}
