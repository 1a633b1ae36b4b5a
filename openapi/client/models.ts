import { vendorAliases } from "./generated/vendors.gen.ts";

/** Label of a vendor. */
export type Vendor = keyof typeof vendorAliases;

/** What a model's id says. */
export interface ModelName {
  /** As it stands in the id: a label, an alias, or the label of an operator's own vendor. */
  readonly provider: string;
  /** Its vendor; undefined where the provider is an operator's own. */
  readonly vendor: Vendor | undefined;
  /** The vendor's own name of the model, which may hold slashes. */
  readonly name: string;
}

/** `openai/gpt-5-mini` as its parts. Throws a TypeError where there is no provider in front. */
export function parseModelId(id: string): ModelName {
  const slash = id.indexOf("/");
  if (slash < 1 || slash === id.length - 1) {
    throw new TypeError(`Expected '<provider>/<model_name>', got '${id}'`);
  }
  const provider = id.slice(0, slash);
  return { provider, vendor: vendorOf(provider), name: id.slice(slash + 1) };
}

/** The id of a model on the unified endpoints. */
export function modelId(provider: Vendor | (string & Record<never, never>), name: string): string {
  return `${provider}/${name}`;
}

/** The label of a vendor that is named by label or alias; undefined for an operator's own. */
export function vendorOf(provider: string): Vendor | undefined {
  for (const [label, aliases] of Object.entries(vendorAliases)) {
    if (label === provider || (aliases as readonly string[]).includes(provider)) {
      return label as Vendor;
    }
  }
  return undefined;
}
