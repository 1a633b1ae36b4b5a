import { agentNames } from "../../contracts/admin/keys.ts";
import { checkedKeyDefaults } from "../administration/key_administration.ts";
import { defined } from "../base/defined.ts";
import { agentLines, type AgentName, agentTitles, isAgentName } from "../keys/agents.ts";
import type { KeyDefaults } from "../keys/key_defaults.ts";
import { optional, textOption, UsageError, type Values } from "./command.ts";

/** Options of `key create` for programs that can only be given an address, a key and a model. */
export const agentOptions = {
  for: textOption,
  app: textOption,
  "default-model": textOption,
  map: { type: "string", multiple: true },
  "expected-output-tokens": textOption,
} as const;

export const agentUsage = `[--for ${
  agentNames.join("|")
}] [--app N] [--default-model M] [--map NAME=MODEL…] [--expected-output-tokens N]`;

/**
 * Returns the key defaults that the options set, or undefined if they set none. With `--for` the
 * agent's name is the app tag unless `--app` is given. Throws an error that names the option.
 */
export async function readAgentOptions(
  values: Values,
  caps: { capDayNanos: bigint | null; capMonthNanos: bigint | null },
  isModel: (name: string) => Promise<boolean>,
): Promise<KeyDefaults | undefined> {
  const agent = readAgent(values);
  const app = optional(values, "app") ?? agent;
  const models = readMap(values.map);
  const defaultModel = optional(values, "default-model");
  const expected = optional(values, "expected-output-tokens");
  const expectedOutputTokens = expected === undefined ? undefined : wholeNumber(expected);
  const defaults = defined({ agent, app, defaultModel, models, expectedOutputTokens });
  return await checkedKeyDefaults(defaults, caps, isModel);
}

function readAgent(values: Values): AgentName | undefined {
  const agent = optional(values, "for");
  if (agent === undefined || isAgentName(agent)) return agent;
  throw new UsageError(`--for ${agent}: expected one of ${agentNames.join(", ")}`);
}

/** Reads pairs written `NAME=MODEL`; a name may appear only once. */
function readMap(pairs: Values[string]): Record<string, string> | undefined {
  if (!Array.isArray(pairs) || pairs.length === 0) return undefined;
  const models: Record<string, string> = {};
  for (const pair of pairs.map(String)) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at).trim();
    const model = pair.slice(at + 1).trim();
    if (at < 1 || name === "" || model === "") {
      throw new UsageError(`--map ${pair}: expected NAME=MODEL`);
    }
    if (Object.hasOwn(models, name)) throw new UsageError(`--map ${name}: is set twice`);
    Object.defineProperty(models, name, { value: model, enumerable: true });
  }
  return models;
}

/** Returns NaN for anything else, which the check of all defaults then refuses. */
function wholeNumber(value: string): number {
  return /^\d{1,9}$/.test(value) ? Number(value) : NaN;
}

/** Returns the lines that configure the agent, to print below the new key; none without `--for`. */
export function linesFor(
  defaults: KeyDefaults | undefined,
  access: { baseUrl: string; key: string },
): string[] {
  const agent = defaults?.agent;
  if (agent === undefined || !isAgentName(agent)) return [];
  const model = defaults?.defaultModel;
  return ["", `For ${agentTitles[agent]}:`, ...agentLines(agent, { ...access, model })];
}
