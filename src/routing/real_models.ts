import { nearestNames, suggestedNames } from "../base/nearest_names.ts";
import { withoutSnapshot } from "../pricing/table/price_names.ts";
import type { Prices } from "../pricing/table/prices.ts";
import { Fault, invalidValue } from "../shared/fault.ts";
import { type ResolvedModel, resolveUnified, shorten } from "../vendors/model_name.ts";
import type { Registry, Vendor } from "../vendors/registry.ts";

/**
 * The vendors' models by name: with the vendor in front, or bare where just one vendor has such a
 * model of its own.
 */
export interface RealModels {
  /** Undefined where the name leads to no model, or to several. */
  find(name: string): ResolvedModel | undefined;
  /**
   * The fault for a name that `find` doesn't resolve: `invalid_value` where several vendors have
   * it, else `model_not_found` with the nearest names, `others` among them.
   */
  refusal(name: string, others?: Iterable<string>): Fault;
}

/** More names would make the message hard to read. */
const maxNearest = 3;

/** Bare names are those in the bundled and the operator's price rows, whatever the rows' dates. */
export function createRealModels(
  { registry, prices }: { registry: Registry; prices: Pick<Prices, "rows"> },
): RealModels {
  const owners = ownersByModel(registry, prices);
  const ownersOf = (name: string) => owners.get(name) ?? owners.get(withoutSnapshot(name)) ?? [];
  return {
    find(name) {
      if (hasVendor(registry, name)) return resolveUnified(registry, name);
      const [vendor, another] = ownersOf(name);
      if (!vendor || another) return undefined;
      return { vendor, model: name, id: `${vendor.label}/${name}` };
    },
    refusal(name, others = []) {
      const vendors = ownersOf(name);
      if (vendors.length > 1) return ambiguous(name, vendors);
      const bare = withoutPath(name);
      const isKnown = bare !== name && this.find(bare) !== undefined;
      const models = [...others, ...owners.keys()];
      if (isKnown) return unknown(name, [bare]);
      const hosted = hostedAs(bare, registry, prices);
      return unknown(name, [...nearestTo(bare, registry, models), ...hosted].slice(0, maxNearest));
    },
  };
}

/** Whether a name has a vendor in front, and something after it. */
function hasVendor(registry: Registry, name: string): boolean {
  const slash = name.indexOf("/");
  return slash > 0 && slash < name.length - 1 && registry.find(name.slice(0, slash)) !== undefined;
}

function ownersByModel(
  registry: Registry,
  prices: Pick<Prices, "rows">,
): ReadonlyMap<string, readonly Vendor[]> {
  const owners = new Map<string, Vendor[]>();
  for (const { label, model } of prices.rows()) {
    const vendor = registry.find(label);
    if (!vendor?.ownsModels) continue;
    const others = owners.get(model) ?? [];
    if (!others.includes(vendor)) owners.set(model, [...others, vendor]);
  }
  return owners;
}

/**
 * Returns a full name for each vendor without models of its own that has this one, as far as its
 * prices are known: callers of OpenRouter write `mistralai/…` without a vendor in front.
 */
function hostedAs(name: string, registry: Registry, prices: Pick<Prices, "rows">): string[] {
  if (!name.includes("/")) return [];
  const lower = name.toLowerCase();
  const found = prices.rows("all").flatMap(({ label, model }) => {
    const vendor = model.toLowerCase() === lower ? registry.find(label) : undefined;
    return vendor && !vendor.ownsModels ? [`${vendor.aliases[0] ?? vendor.label}/${model}`] : [];
  });
  return [...new Set(found)];
}

/**
 * Removes what Google's clients and model list put in front of a name, and what a base URL with a
 * version too many leaves there.
 */
function withoutPath(name: string): string {
  return name.replace(/^(?:v1beta\/)?models\//, "");
}

/**
 * Returns similar names. Of a full name only the vendor is compared, since only the vendor knows
 * its models; a listed one is spelt as in the list.
 */
function nearestTo(name: string, registry: Registry, models: Iterable<string>): string[] {
  const slash = name.indexOf("/");
  if (slash === -1) return suggestedNames(name, models);
  const vendors = registry.all.flatMap(({ label, aliases }) => [label, ...aliases]);
  const rest = shorten(name.slice(slash));
  // For a vendor without a model after it there is nothing to suggest.
  if (rest === "/") return [];
  const model = name.slice(slash + 1).toLowerCase();
  const listed = [...models].find((one) => one.toLowerCase() === model) ?? rest.slice(1);
  return nearestNames(name.slice(0, slash), vendors).map((vendor) => `${vendor}/${listed}`);
}

function ambiguous(name: string, vendors: readonly Vendor[]): Fault {
  const ids = vendors.map(({ label }) => `'${label}/${shorten(name)}'`);
  return invalidValue(
    "model",
    `'${shorten(name)}' is a model of several vendors; use ${ids.join(" or ")}`,
  );
}

function unknown(name: string, nearest: readonly string[]): Fault {
  const hint = nearest.length === 0
    ? ""
    : ` Did you mean ${nearest.map((one) => `'${one}'`).join(" or ")}?`;
  return new Fault("model_not_found", {
    param: "model",
    message: `model: unknown model '${
      shorten(name)
    }'.${hint} Use '<provider>/<model_name>', such as 'openai/gpt-5-mini'; GET /chat/v1/models lists them.`,
  });
}
