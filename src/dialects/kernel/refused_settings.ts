import type {
  CanonicalRequest,
  Loss,
  LossWeight,
  Reasoning,
  SettingName,
} from "./canonical_request.ts";
import type { Target } from "./dialect.ts";
import type { FoundSettings } from "./found_settings.ts";
import { effortLevels, effortOf, nearestLevel } from "./reasoning.ts";
import { changesNothing, loseSetting } from "./setting_losses.ts";

/** Settings that some models of a vendor refuse with a 400; part of the vendor's row. */
export interface RefusedSettings {
  /** Matches the vendor's name of the model. The first matching rule applies. */
  readonly models: RegExp;
  /** Models that match `models` but accept everything. */
  readonly except?: RegExp;
  readonly always: readonly SettingName[];
  /** Refused unless the request switches reasoning off. */
  readonly whileReasoning?: readonly SettingName[];
}

/** The efforts that some models of a vendor support; others are a 400. Part of the vendor's row. */
export interface SupportedEfforts {
  /** Matches the vendor's name of the model. The first matching rule applies. */
  readonly models: RegExp;
  /** In ascending order; empty for models without reasoning, which refuse the setting. */
  readonly efforts: readonly Effort[];
}

type Effort = NonNullable<Reasoning["effort"]>;

/**
 * The request without the settings that its model is known to refuse, for translated calls: a
 * caller of another dialect doesn't know this vendor's rules. They are reported as losses, unless
 * their value changes nothing. An effort that the model doesn't support becomes the nearest that it does.
 */
export function withoutRefused(
  original: CanonicalRequest,
  { model, quirks }: Target,
): { request: CanonicalRequest; losses: Loss[] } {
  const losses: Loss[] = [];
  const supported = quirks?.efforts?.find(({ models }) => models.test(model))?.efforts;
  const request = supported ? withSupportedEffort(supported, original, losses) : original;
  const rule = quirks?.refuses?.find(({ models, except }) =>
    models.test(model) && except?.test(model) !== true
  );
  if (!rule) return { request, losses };
  const { whileReasoning = [] } = rule;
  const refused = isReasoningOff(request) ? rule.always : [...rule.always, ...whileReasoning];
  const stripped = { ...request };
  for (const setting of refused) {
    if (request[setting] === undefined) continue;
    if (!changesNothing(request, setting)) {
      loseSetting(request, setting, weightOf(setting), losses);
    }
    delete stripped[setting];
  }
  return { request: stripped, losses };
}

/**
 * Whether the model is known to refuse a setting of a request, whose settings `read` returns. A
 * request that can't be read is left to its vendor.
 */
export function refusesSettings(read: () => FoundSettings, target: Target): boolean {
  const { refuses, efforts } = target.quirks ?? {};
  if (!refuses && !efforts) return false;
  let found: FoundSettings;
  try {
    found = read();
  } catch {
    return false;
  }
  const { settings, paths } = found;
  const conversation = { stream: false, system: [], turns: [], tools: [], unsupported: [] };
  const asked = { ...conversation, model: target.model, ...settings, paths };
  const { request: { reasoning }, losses } = withoutRefused(asked, target);
  const isSameEffort = reasoning?.effort === asked.reasoning?.effort;
  return losses.length > 0 || !isSameEffort || !reasoning !== !asked.reasoning;
}

/** Sampling settings are hints; log-probabilities are part of the requested answer. */
function weightOf(setting: SettingName): LossWeight {
  return setting === "logprobs" ? "meaning" : "hint";
}

function isReasoningOff({ reasoning }: CanonicalRequest): boolean {
  return reasoning !== undefined && effortOf(reasoning) === "none";
}

/** Requests an effort that the model supports, or none of a model without reasoning. */
function withSupportedEffort(
  supported: readonly Effort[],
  request: CanonicalRequest,
  losses: Loss[],
): CanonicalRequest {
  const { reasoning, ...others } = request;
  if (!reasoning) return request;
  const effort = effortOf(reasoning);
  if (supported.length === 0) {
    if (effort !== undefined && effort !== "none") {
      loseSetting(request, "reasoning", "hint", losses);
    }
    return others;
  }
  if (effort === undefined) return request;
  const nearest = nearestLevel(effort, { levels: effortLevels, supported });
  return { ...request, reasoning: { ...reasoning, effort: nearest } };
}
