import { Fault } from "../shared/fault.ts";
import type { Registry, Vendor } from "./registry.ts";

/** A model as the vendor knows it, and the vendor that has it. */
export interface ResolvedModel {
  vendor: Vendor;
  /** The name sent to the vendor. */
  model: string;
  /** `<label>/<model>`, the id in the unified list. */
  id: string;
  /** The virtual model that leads here; absent where the call names this model itself. */
  through?: string;
}

/** What an index of the records can hold, in UTF-16 units; names of models are far shorter. */
const longestModel = 500;

/** The model that a call names: on a vendor's family, or on the unified one where it is undefined. */
export function resolveTarget(
  registry: Registry,
  vendor: Vendor | undefined,
  name: string,
): ResolvedModel {
  return vendor ? resolveOnFamily(vendor, name) : resolveUnified(registry, name);
}

/**
 * `<provider>/<model_name>` of the unified endpoint; split at the first slash, since names of the
 * aggregator hold more. An unknown provider is 404, no vendor is called.
 */
export function resolveUnified(registry: Registry, name: string): ResolvedModel {
  const slash = name.indexOf("/");
  const vendor = slash > 0 ? registry.find(name.slice(0, slash)) : undefined;
  const model = name.slice(slash + 1);
  if (!vendor || model === "" || model.length > longestModel) {
    throw new Fault("model_not_found", {
      param: "model",
      message: `model: unknown model '${
        shorten(name)
      }'. Use '<provider>/<model_name>', such as 'openai/gpt-5-mini'; GET /chat/v1/models lists them.`,
    });
  }
  return { vendor, model, id: `${vendor.label}/${model}` };
}

/** On a vendor's family only the family's own label or alias is taken off the front. */
export function resolveOnFamily(vendor: Vendor, name: string): ResolvedModel {
  const prefix = [vendor.label, ...vendor.aliases].find((one) => name.startsWith(`${one}/`));
  const model = prefix === undefined ? name : name.slice(prefix.length + 1);
  if (model === "" || model.length > longestModel) {
    throw new Fault("model_not_found", {
      param: "model",
      message: `model: unknown model '${shorten(name)}'.`,
    });
  }
  return { vendor, model, id: `${vendor.label}/${model}` };
}

/** A name of the caller's, as messages repeat it. */
export function shorten(name: string): string {
  return name.length > 100 ? name.slice(0, 100) + "…" : name;
}
