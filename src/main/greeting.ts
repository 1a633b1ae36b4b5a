import type { Secret } from "../base/secret.ts";
import type { Clock } from "../base/clock.ts";
import type { Prices } from "../pricing/table/prices.ts";
import { shownVendor } from "../vendors/shown_vendor.ts";
import type { Registry } from "../vendors/registry.ts";
import { adminCommandOf, type Config, usualKeyVariables } from "./config.ts";
import { defaultModels } from "../pricing/table/price_table.ts";

/** Links into the dashboard that work once. */
export interface GreetingLinks {
  /** Makes whoever signs in through it the owner. */
  claim?: string | undefined;
  /** Signs in the owner. */
  signIn?: string | undefined;
}

/**
 * Returns the lines that a start prints: the addresses, the vendors that have a key and how to
 * create a key for callers; on the first start also the first key and an example call with it.
 */
export function greeting(
  deps: ModelDeps & { config: Config; version: string },
  address: string,
  firstKey: Secret | undefined,
  { claim, signIn }: GreetingLinks = {},
): string[] {
  const base = deps.config.baseUrl ?? address;
  return [
    `demeter ${deps.version} listens on ${address}`,
    "",
    ...addressLines(deps, base),
    "",
    ...oneTimeLink(claim, "Open this link once to become the dashboard's owner:"),
    ...oneTimeLink(
      signIn,
      "Open this link within ten minutes to see the dashboard; it works once:",
    ),
    ...(firstKey ? firstCall(deps, base, firstKey.reveal()) : []),
  ];
}

function addressLines({ config, registry }: ModelDeps & { config: Config }, base: string) {
  const admin = adminCommandOf(config);
  const signIn = config.localSignIn ? ` (sign in: ${admin} sign-in)` : "";
  const withKey = registry.all.filter((vendor) => vendor.apiKey);
  const without = registry.all.filter((vendor) => !vendor.apiKey);
  const names = (vendors: typeof withKey, name: (label: string) => string) =>
    vendors.map(({ label }) => name(label)).join(", ");
  const shown = (label: string) => shownVendor(registry, label);
  // A vendor that shares another's key has no variable of its own.
  const settable = without.filter(({ label }) => usualKeyVariables[label] !== undefined);
  return [
    `  API        ${base}/v1 (or /chat/v1)`,
    `  Dashboard  ${base}/dashboard${signIn}`,
    `  Reference  ${base}/reference`,
    `  Vendors    ${
      withKey.length > 0
        ? names(withKey, (label) => keyedVendor(config, shown, label))
        : "none has a key"
    }`,
    ...(settable.length > 0
      ? [
        `             set a key for more: ${
          names(settable, (label) => usualKeyVariables[label]![0]!)
        }`,
      ]
      : []),
    `  New key    ${admin} key create --name <name>`,
  ];
}

/**
 * Returns a vendor's name, with the key's variable if other programs read it too: it may have been
 * set for them, and callers would spend the operator's money unnoticed.
 */
function keyedVendor(config: Config, shown: (label: string) => string, label: string): string {
  const variable = config.vendors[label]?.keyVariable;
  const isUsual = variable !== undefined && usualKeyVariables[label]?.includes(variable) === true;
  return isUsual ? `${shown(label)} by ${variable}` : shown(label);
}

function oneTimeLink(link: string | undefined, text: string): string[] {
  return link === undefined ? [] : [text, "", `  ${link}`, ""];
}

function firstCall(deps: ModelDeps & { config: Config }, base: string, key: string): string[] {
  const first = firstModel(deps);
  const model = first && usualModelName(deps, first);
  const lines = [
    "First start. This API key is shown only once, keep it:",
    "",
    `  API key   ${key}`,
    `  Base URL  ${base}`,
    "",
    "Try it:",
    "",
    `  ${model === undefined ? statusCommand(base, key) : chatCommand(base, key, model)}`,
    "",
  ];
  if (model !== undefined) return lines;
  const keyed = deps.registry.all.filter(({ apiKey }) => apiKey);
  if (keyed.length > 0) {
    const names = keyed.map(({ label }) => shownVendor(deps.registry, label)).join(", ");
    return [
      ...lines,
      `Next: no price is known for any model of ${names}, so calls with the service's key are refused.`,
      "Start again with prices in PRICES_FILE; a row without any price makes its model free.",
      "",
    ];
  }
  return [
    ...lines,
    "Next: no vendor key is set. Start again with OPENAI_API_KEY=<your key> (or VENDOR_B_API_KEY=)",
    `to call models, or run '${deps.config.program} demo' to try every endpoint with simulated vendors.`,
    "",
  ];
}

/** Returns a model under its vendor's usual name: `openai/gpt-5-mini` for `vendor-b/gpt-5-mini`. */
export function usualModelName({ registry }: Pick<ModelDeps, "registry">, model: string): string {
  const label = model.split("/", 1)[0]!;
  const alias = registry.find(label)?.aliases[0];
  return alias === undefined ? model : alias + model.slice(label.length);
}

interface ModelDeps {
  registry: Registry;
  prices: Prices;
  clock: Pick<Clock, "now">;
}
/** Returns a priced model of the first vendor with a key, such as `vendor-b/gpt-5-mini`. */
export function firstModel({ registry, prices, clock }: ModelDeps): string | undefined {
  // vendor-b first: the greeting without any key names it too.
  const vendors = [...registry.all].sort((a, b) =>
    Number(b.label === firstVendor) - Number(a.label === firstVendor)
  );
  for (const vendor of vendors) {
    if (!vendor.apiKey) continue;
    const model = firstModelOf(vendor, { prices, clock });
    if (model !== undefined) return `${vendor.label}/${model}`;
  }
  return undefined;
}

/** Returns a chat model of one vendor, by the name that the vendor uses. */
export function firstModelOf(
  { label }: { readonly label: string },
  { prices, clock }: Omit<ModelDeps, "registry">,
): string | undefined {
  return defaultModels[label] ?? prices.listed(label, clock.now())[0]?.model;
}

const firstVendor = "vendor-b";

function statusCommand(base: string, key: string): string {
  return `curl ${base}/api/v1/status -H 'Authorization: Bearer ${key}'`;
}

function chatCommand(base: string, key: string, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Say hello." }] });
  return `curl ${base}/chat/v1/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`;
}
