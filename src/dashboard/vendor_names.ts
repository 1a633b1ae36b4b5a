import type { Option } from "./fields.tsx";

/** Vendors' common names by their labels: `openai` for `vendor-b`. */
export type VendorNames = ReadonlyMap<string, string>;

/** Returns a vendor's common name: `openai`. */
export function vendorName(names: VendorNames, label: string): string {
  return names.get(label) ?? label;
}

/** Returns the common name with the label, which records, files and scopes have: `openai (vendor-b)`. */
export function vendorWithLabel(names: VendorNames, label: string): string {
  const name = vendorName(names, label);
  return name === label ? label : `${name} (${label})`;
}

/** Returns a model's id with the vendor's common name: `openai/gpt-5-mini` for `vendor-b/gpt-5-mini`. */
export function modelName(names: VendorNames, id: string): string {
  const label = id.split("/", 1)[0]!;
  return vendorName(names, label) + id.slice(label.length);
}

/** Returns the model of a call in the same way. */
export function modelOfCall(
  names: VendorNames,
  { vendor, model }: { vendor: string; model: string },
): string {
  return `${vendorName(names, vendor)}/${model}`;
}

/** Reads such an id, with the common name or the label; undefined if no vendor has either. */
export function readModelName(
  names: VendorNames,
  id: string,
): { vendor: string; model: string } | undefined {
  const name = id.split("/", 1)[0]!;
  const model = id.slice(name.length + 1);
  const vendor = [...names.keys()].find((label) => label === name || names.get(label) === name);
  return vendor === undefined || model === "" ? undefined : { vendor, model };
}

/** All vendors, to choose from. */
export function vendorOptions(names: VendorNames): Option[] {
  return [...names.keys()].map((label) => [label, vendorWithLabel(names, label)]);
}
