import type { CanonicalRequest, Loss, LossWeight, SettingName } from "./canonical_request.ts";

/** The setting's path in the caller's body. */
export function settingPath({ paths }: CanonicalRequest, setting: SettingName): string {
  return paths[setting] ?? setting;
}

export function loseSetting(
  request: CanonicalRequest,
  setting: SettingName,
  weight: LossWeight,
  losses: Loss[],
): void {
  losses.push({ path: settingPath(request, setting), weight });
}

/** Settings that change the meaning of the answer; all others are hints. */
const meaningful: readonly SettingName[] = [
  "choices",
  "logprobs",
  "logitBias",
  "modalities",
  "stop",
];

/** Settings of the vendor's prompt cache. */
export const cacheSettings = ["promptCacheOptions", "promptCacheRetention"] as const;

/** Reports losses for those of the settings that are set and change something. */
export function loseSettings(
  request: CanonicalRequest,
  settings: readonly SettingName[],
  losses: Loss[],
): void {
  for (const setting of settings) {
    if (request[setting] === undefined || changesNothing(request, setting)) continue;
    loseSetting(request, setting, meaningful.includes(setting) ? "meaning" : "hint", losses);
  }
}

/** Whether the vendor does the same without the value. */
export function changesNothing(request: CanonicalRequest, setting: SettingName): boolean {
  switch (setting) {
    case "temperature":
    case "topP":
    case "choices":
      return request[setting] === 1;
    case "frequencyPenalty":
    case "presencePenalty":
      return request[setting] === 0;
    case "stop":
      return request.stop?.length === 0;
    case "modalities":
      return request.modalities?.includes("image") !== true;
    case "logitBias":
      return Object.keys(request.logitBias ?? {}).length === 0;
    case "metadata":
      return request.repeatsMetadata === true || Object.keys(request.metadata ?? {}).length === 0;
    default:
      return false;
  }
}
