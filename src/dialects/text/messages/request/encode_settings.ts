import type { CanonicalRequest, Loss, SettingName } from "../../../kernel/canonical_request.ts";
import type { ModelFacts } from "../models.ts";
import { defined } from "../../../../base/defined.ts";
import { loseSetting, loseSettings } from "../../../kernel/setting_losses.ts";

/** Writes sampling, stop sequences, user and tier; a setting without a field is a loss. */
export function writeSettings(
  request: CanonicalRequest,
  facts: ModelFacts,
  isThinking: boolean,
  losses: Loss[],
): Record<string, unknown> {
  if (request.choices !== undefined && request.choices > 1) {
    loseSetting(request, "choices", "meaning", losses);
  }
  loseSettings(request, lost, losses);
  const lose: Lose = (setting) => loseSetting(request, setting, "hint", losses);
  return {
    ...writeSampling(request, facts, isThinking, lose),
    ...defined({
      stop_sequences: writeStop(request.stop, lose),
      metadata: request.user === undefined ? undefined : { user_id: request.user },
      service_tier: writeServiceTier(request.serviceTier, lose),
    }),
  };
}

type Lose = (setting: SettingName) => void;

/** Settings without a field in this dialect. */
const lost = [
  "logprobs",
  "logitBias",
  "seed",
  "frequencyPenalty",
  "presencePenalty",
  "verbosity",
  "modalities",
  "metadata",
] as const;

/**
 * Writes the sampling settings. Temperatures end at 1 in this dialect; newer models accept no
 * sampling settings, and thinking allows only the defaults and a `top_p` of at least 0.95.
 */
function writeSampling(
  request: CanonicalRequest,
  facts: ModelFacts,
  isThinking: boolean,
  lose: Lose,
): Record<string, unknown> {
  const { temperature, topP, topK } = request;
  const isDefault = { temperature: temperature === 1, topP: topP === 1 };
  if (!facts.sampling || isThinking) {
    if (temperature !== undefined && !isDefault.temperature) lose("temperature");
    const keepsTopP = facts.sampling && topP !== undefined && topP >= 0.95;
    if (topP !== undefined && !isDefault.topP && !keepsTopP) lose("topP");
    if (topK !== undefined) lose("topK");
    return keepsTopP && !isDefault.topP ? { top_p: topP } : {};
  }
  if (temperature !== undefined && temperature > 1) lose("temperature");
  const isRefused = temperature !== undefined && topP !== undefined && !facts.bothSamplings;
  if (isRefused && !isDefault.topP) lose("topP");
  return defined({
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    top_p: isRefused ? undefined : topP,
    top_k: topK,
  });
}

/** Writes the stop sequences. The vendor refuses those that consist only of white space. */
function writeStop(stop: readonly string[] | undefined, lose: Lose): string[] | undefined {
  const accepted = stop?.filter((one) => one.trim() !== "");
  if (stop?.some((one) => one !== "" && one.trim() === "")) lose("stop");
  return accepted?.length ? accepted : undefined;
}

function writeServiceTier(tier: string | undefined, lose: Lose): string | undefined {
  if (tier === undefined || tier === "auto") return tier;
  if (tier === "default" || tier === "standard") return "standard_only";
  lose("serviceTier");
  return undefined;
}
