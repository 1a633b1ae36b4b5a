import { vendorAliases } from "./generated/vendors.gen.ts";

/** Label of a vendor. */
export type Vendor = keyof typeof vendorAliases;

/** The parts of a model's id. */
export interface ModelName {
  /** The part before the first slash: a vendor's label or alias, or an operator's own vendor. */
  readonly provider: string;
  /** The label of the provider's vendor; undefined for an operator's own vendor. */
  readonly vendor: Vendor | undefined;
  /** The vendor's own name of the model, which may have slashes. */
  readonly name: string;
}

/** Splits an id such as `openai/gpt-5-mini`. Throws a TypeError if it has no provider. */
export function parseModelId(id: string): ModelName {
  const slash = id.indexOf("/");
  if (slash < 1 || slash === id.length - 1) {
    throw new TypeError(`Expected '<provider>/<model_name>', got '${id}'`);
  }
  const provider = id.slice(0, slash);
  return { provider, vendor: vendorOf(provider), name: id.slice(slash + 1) };
}

/** Returns the id of a model for the unified endpoints. */
export function modelId(provider: Vendor | (string & Record<never, never>), name: string): string {
  return `${provider}/${name}`;
}

/** Returns the label of a vendor by its label or alias; undefined for an operator's own vendor. */
export function vendorOf(provider: string): Vendor | undefined {
  for (const [label, aliases] of Object.entries(vendorAliases)) {
    if (label === provider || (aliases as readonly string[]).includes(provider)) {
      return label as Vendor;
    }
  }
  return undefined;
}
