import { maxEntries } from "../../../contracts/kernel/common.ts";
import { invalidValue } from "../../shared/fault.ts";
import {
  costIn,
  type HostedTool,
  limitOf,
  mayCallModels,
  noCost,
  perUse,
  type ToolCost,
  unknownCost,
  type VendorState,
} from "./hosted.ts";
import { asList, asString, isRecord, type JsonRecord } from "./json.ts";

/** OpenRouter's plugins (npm @openrouter/sdk 1.3.19, `ChatRequest.plugins`). */
const pluginCosts: Readonly<Record<string, ToolCost>> = {
  web: perUse("perWebSearch"),
  "web-fetch": perUse("perWebSearch"),
  "response-healing": noCost,
  "context-compression": noCost,
  moderation: noCost,
  "file-parser": unknownCost,
};

/** Returns what an aggregator's own fields ask for, which it accepts in every dialect. */
export function aggregatorTools({ plugins, models, preset }: JsonRecord): HostedTool[] {
  for (const [name, list] of Object.entries({ plugins, models })) {
    if (asList(list).length <= maxEntries.others) continue;
    throw invalidValue(name, `expected at most ${maxEntries.others} items`);
  }
  const named = namedIn(plugins, "plugins", "id", pluginCosts, "");
  return [
    ...named.filter(({ path }) => isEnabled(plugins, path)).map((plugin) =>
      // Fusion, for one, asks a panel of models.
      Object.hasOwn(pluginCosts, plugin.name) ? plugin : { ...plugin, cost: mayCallModels }
    ),
    ...alternatives(models),
    ...presetIn(preset).map((path) => ({ path, name: path, cost: mayCallModels })),
  ];
}

/** Returns the state in an aggregator's account that its own fields name. */
export function aggregatorState({ preset }: JsonRecord): VendorState[] {
  return presetIn(preset).map((path) => ({ path }));
}

/** Settings stored in the account, among them models (openrouter.ai/docs/guides/features/presets). */
function presetIn(preset: unknown): string[] {
  return preset === undefined || preset === null || preset === "" ? [] : ["preset"];
}

/** Returns the tools of a list, each named by its member `key`. */
export function namedIn(
  list: unknown,
  at: string,
  key: string,
  costs: Readonly<Record<string, ToolCost>>,
  defaultName: string,
): HostedTool[] {
  return asList(list).flatMap((one, index): HostedTool[] => {
    if (!isRecord(one)) return [];
    const name = asString(one[key]) ?? defaultName;
    const settings = isRecord(one.parameters) ? one.parameters : one;
    const limit = name === "function" || name === "custom" ? {} : limitOf(settings.max_uses);
    return [{ path: `${at}[${index}]`, name, cost: costIn(costs, name), ...limit }];
  });
}

function isEnabled(plugins: unknown, path: string): boolean {
  const index = Number(path.slice("plugins[".length, -1));
  const plugin = asList(plugins)[index];
  return !isRecord(plugin) || plugin.enabled !== false;
}

/** Models among which the vendor chooses one. */
function alternatives(models: unknown): HostedTool[] {
  return asList(models).flatMap((model, index): HostedTool[] => {
    const name = asString(model);
    if (name === undefined) return [];
    const path = `models[${index}]`;
    return [{ path, name, cost: { type: "model", model: name, role: "instead" }, maxUses: 1 }];
  });
}
