import { parseExactly } from "../base/exact_json.ts";
import { OptionError } from "../shared/fault.ts";
import { isTagValue, maxTagLength } from "../shared/prompt_tags.ts";
import type { ApiKey, ApiKeyChange } from "./api_key.ts";

/**
 * Settings that a key gives its calls, since coding agents send no headers or tags of their own.
 */
export interface KeyDefaults {
  /** The agent that it was made for, one of `agentNames`. */
  agent?: string;
  /** App tag of calls that have none. */
  app?: string;
  /** The model for calls on the unified family whose model's name leads nowhere. */
  defaultModel?: string;
  /**
   * On the unified family: the names that calls use for models → the models that they stand for.
   */
  models?: Readonly<Record<string, string>>;
  /**
   * Output tokens that credit is held for, instead of the most that a call may produce. The key's
   * caps still hold the most, and so limit how far the balance can fall below zero.
   */
  expectedOutputTokens?: number;
}

/** Most names in `models`. */
const maxMappedNames = 100;
const longestName = 256;
const maxExpectedTokens = 1_000_000;

/**
 * Checks the defaults of a new key; `isModel` says whether a name leads to a model. Throws
 * `OptionError`.
 */
export async function checkKeyDefaults(
  defaults: KeyDefaults,
  { capDayNanos, capMonthNanos }: Omit<CappedKey, "defaults">,
  isModel: (name: string) => Promise<boolean>,
): Promise<void> {
  const { app, defaultModel, models = {}, expectedOutputTokens } = defaults;
  if (app !== undefined && !isTagValue(app)) {
    const most = `1 to ${maxTagLength} characters and no control characters`;
    throw new OptionError("app", `expected one line of ${most}`);
  }
  if (defaultModel !== undefined && !await isModel(defaultModel)) {
    throw noModel("default_model", defaultModel);
  }
  const mapped = Object.entries(models);
  if (mapped.length > maxMappedNames) {
    throw new OptionError("map", `at most ${maxMappedNames} names`);
  }
  for (const [name, model] of mapped) {
    if (name === "" || name.length > longestName) {
      throw new OptionError(
        "map",
        `'${shown(name)}': expected 1 to ${longestName} characters`,
      );
    }
    if (!await isModel(model)) {
      throw noModel("map", model, `'${shown(name)}': `);
    }
  }
  if (expectedOutputTokens === undefined) return;
  const isCount = Number.isSafeInteger(expectedOutputTokens) && expectedOutputTokens >= 1 &&
    expectedOutputTokens <= maxExpectedTokens;
  if (!isCount) {
    throw new OptionError(
      "expected_output_tokens",
      `expected a whole number from 1 to ${maxExpectedTokens}`,
    );
  }
  const lack = missingCap({ defaults, capDayNanos, capMonthNanos });
  if (lack !== undefined) throw new OptionError("expected_output_tokens", `needs ${lack}`);
}

type CappedKey = Pick<ApiKey, "defaults" | "capDayNanos" | "capMonthNanos">;

/** Returns what the key's defaults need and the key lacks; undefined if it lacks nothing. */
export function missingCap(
  { defaults, capDayNanos, capMonthNanos }: CappedKey,
): string | undefined {
  if (defaults?.expectedOutputTokens === undefined) return undefined;
  if (capDayNanos !== null || capMonthNanos !== null) return undefined;
  return "a daily or monthly cap, which limits how far the balance can fall below zero";
}

/** Throws `invalid_value` if a change leaves a key in a state in which it couldn't be created. */
export function refuseUncapped(
  changed: CappedKey,
  { capDayNanos }: Pick<ApiKeyChange, "capDayNanos">,
): void {
  const lack = missingCap(changed);
  if (lack === undefined) return;
  const field = capDayNanos === undefined ? "cap_month_usd" : "cap_day_usd";
  throw new OptionError(field, `the key has expected_output_tokens, so it needs ${lack}`);
}

/** The error for a name in an option that leads to no model; `entry` says where in the option. */
export function noModel(field: string, name: string, entry = ""): OptionError {
  return new OptionError(field, `${entry}no model has the name '${shown(name)}'`);
}

function shown(name: string): string {
  return name.slice(0, 100);
}

/** JSON text for the store; null where the key has no defaults. */
export function writeKeyDefaults(defaults: KeyDefaults | undefined): string | null {
  if (!defaults || Object.values(defaults).every((value) => value === undefined)) return null;
  const { agent, app, defaultModel, models, expectedOutputTokens } = defaults;
  return JSON.stringify({
    agent,
    app,
    default_model: defaultModel,
    models,
    expected_output_tokens: expectedOutputTokens,
  });
}

/** The defaults in the store's text; fields of other versions are left out. */
export function readKeyDefaults(text: string | null): KeyDefaults | undefined {
  if (text === null) return undefined;
  const json = parseExactly(text) as Record<string, unknown>;
  const string = (value: unknown) => typeof value === "string" ? value : undefined;
  const { models, expected_output_tokens: tokens } = json;
  const read = {
    agent: string(json.agent),
    app: string(json.app),
    defaultModel: string(json.default_model),
    models: typeof models === "object" && models !== null
      ? models as Record<string, string>
      : undefined,
    expectedOutputTokens: typeof tokens === "number" ? tokens : undefined,
  };
  return Object.fromEntries(
    Object.entries(read).filter(([, value]) => value !== undefined),
  ) as KeyDefaults;
}

/** Returns the model that a name stands for by the key's own names; other names as they are. */
export function mappedModel(defaults: KeyDefaults | undefined, name: string): string {
  const models = defaults?.models;
  return models && Object.hasOwn(models, name) ? models[name]! : name;
}
