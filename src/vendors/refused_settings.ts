import type { SettingName } from "../dialects/kernel/canonical_request.ts";
import type { RefusedSettings } from "../dialects/kernel/refused_settings.ts";

/**
 * What vendors' reasoning models refuse ( for the minor versions the
 * parameter compatibility in vendor-b's own guide, as `@ai-sdk/openai` 4 and LiteLLM 1.106 have it).
 */
const sampling = ["temperature", "topP", "logprobs"] as const;
const always: readonly SettingName[] = [
  "frequencyPenalty",
  "presencePenalty",
  "logitBias",
  "stop",
];

export const refusedByVendorB: readonly RefusedSettings[] = [
  // From 5.1 on they take sampling where reasoning is off.
  { models: /^gpt-5\.[1-9]/, always, whileReasoning: sampling },
  {
    models: /^(?:o\d|gpt-(?:[5-9]|\d\d)(?!\d)|codex-mini|computer-use-preview)/,
    except: /^gpt-5-chat/,
    always: [...always, ...sampling],
  },
];

/** Here the sampling itself is free. */
export const refusedByVendorG: readonly RefusedSettings[] = [
  {
    models: /^grok-(?:3-mini|[4-9]|code|build)/,
    except: /non-reasoning/,
    always: ["frequencyPenalty", "presencePenalty", "stop"],
  },
];
