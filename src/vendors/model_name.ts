import { maskSecrets } from "../base/secret.ts";
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

/**
 * Cap on a model's name in UTF-16 units, which an index of the records can hold; real names are far
 * shorter.
 */
const longestModel = 500;

/**
 * Resolves the model that a call names: on a vendor's family, or on the unified one where `vendor`
 * is undefined.
 */
export function resolveTarget(
  registry: Registry,
  vendor: Vendor | undefined,
  name: string,
): ResolvedModel {
  return vendor ? resolveOnFamily(vendor, name) : resolveUnified(registry, name);
}

/**
 * Resolves `<provider>/<model_name>` of the unified endpoint. Splits at the first slash, since the
 * aggregator's model names have slashes too. For an unknown provider throws `model_not_found`
 * (404), and no vendor is called.
 */
export function resolveUnified(registry: Registry, name: string): ResolvedModel {
  const slash = name.indexOf("/");
  const vendor = slash > 0 ? registry.find(name.slice(0, slash)) : undefined;
  const model = ownName(vendor, name.slice(slash + 1));
  if (!vendor || !mayBeModel(model)) {
    throw new Fault("model_not_found", {
      param: "model",
      message: `model: unknown model '${
        shorten(name)
      }'. Use '<provider>/<model_name>', such as 'openai/gpt-5-mini'; GET /chat/v1/models lists them.`,
    });
  }
  return { vendor, model, id: `${vendor.label}/${model}` };
}

/**
 * Resolves a name on a vendor's family, where only the family's own label or alias is a prefix to
 * strip.
 */
export function resolveOnFamily(vendor: Vendor, name: string): ResolvedModel {
  const prefix = [vendor.label, ...vendor.aliases].find((one) => name.startsWith(`${one}/`));
  const model = ownName(vendor, prefix === undefined ? name : name.slice(prefix.length + 1));
  if (!mayBeModel(model)) {
    throw new Fault("model_not_found", {
      param: "model",
      message: `model: unknown model '${shorten(name)}'.`,
    });
  }
  return { vendor, model, id: `${vendor.label}/${model}` };
}

function ownName(vendor: Vendor | undefined, name: string): string {
  const { namePrefix } = vendor ?? {};
  return namePrefix !== undefined && name.startsWith(namePrefix)
    ? name.slice(namePrefix.length)
    : name;
}

/** False for a service key, too: some put it where the model belongs, and no vendor may get it. */
function mayBeModel(name: string): boolean {
  return name !== "" && name.length <= longestModel && !/dmt_[0-9A-Za-z]{49}/.test(name);
}

/** Shortens a caller's name for quoting in messages, and masks a key that was put in its place. */
export function shorten(name: string): string {
  const masked = maskSecrets(name);
  return masked.length > 100 ? masked.slice(0, 100) + "…" : masked;
}
