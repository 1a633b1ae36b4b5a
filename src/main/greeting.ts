import type { Secret } from "../base/secret.ts";
import type { Clock } from "../base/clock.ts";
import type { Prices } from "../pricing/table/prices.ts";
import type { Registry } from "../vendors/registry.ts";
import type { Config } from "./config.ts";
import { defaultModels } from "../pricing/table/price_table.ts";

/** The lines that a start prints: always the address; on the first start the key and a first call. */
export function greeting(
  deps: ModelDeps & { config: Config; version: string },
  address: string,
  firstKey: Secret | undefined,
  claimLink?: string,
): string[] {
  const base = deps.config.baseUrl ?? address;
  const lines = [`demeter ${deps.version} listens on ${address}`];
  if (claimLink !== undefined) {
    lines.push(
      "",
      "Nobody owns the dashboard yet. Who signs in through this link does, once:",
      "",
      `  ${claimLink}`,
      "",
    );
  }
  if (!firstKey) return lines;
  const key = firstKey.reveal();
  const model = firstModel(deps);
  lines.push(
    "",
    "First start. This API key is shown only now, keep it:",
    "",
    `  API key       ${key}`,
    `  Base address  ${base}`,
    "",
    "Try it:",
    "",
    `  ${model === undefined ? statusCommand(base, key) : chatCommand(base, key, model)}`,
    "",
  );
  if (model === undefined) {
    lines.push(
      "Next: no vendor key is set. Start again with VENDOR_B_API_KEY=<your key> to call models,",
      "or run 'deno task demo' to try every endpoint with simulated vendors.",
      "",
    );
  }
  return lines;
}

interface ModelDeps {
  registry: Registry;
  prices: Prices;
  clock: Pick<Clock, "now">;
}

/** A priced model of the first vendor with a key and the chat dialect. */
export function firstModel(
  { registry, prices, clock }: ModelDeps,
): string | undefined {
  // vendor-b first: it is the one that the next line names.
  const vendors = [...registry.all].sort((a, b) =>
    Number(b.label === firstVendor) - Number(a.label === firstVendor)
  );
  for (const vendor of vendors) {
    if (!vendor.apiKey || !vendor.dialects.includes("chat")) continue;
    const model = firstModelOf(vendor, { prices, clock });
    if (model !== undefined) return `${vendor.label}/${model}`;
  }
  return undefined;
}

/** A chat model of one vendor, as its own paths name it. */
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
