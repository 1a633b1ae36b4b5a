import { isWrittenWithin } from "../../../../base/write_json.ts";
import type { FinishReason } from "../../../../shared/interaction.ts";
import type { Usage } from "../../../../shared/usage.ts";
import { withMaskedCredentials } from "../../../kernel/credential_field.ts";
import { asRecord, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { credentialFields } from "../credentials.ts";
import { writeFinishReason } from "../finish_reason.ts";
import type { Item } from "./output_blocks.ts";
import { writeUsage } from "../usage.ts";

/** The state of the answer, apart from the settings that the response echoes. */
export interface ResponseState {
  id: string;
  /** Unix time in seconds. */
  created: number;
  completed: number | undefined;
  model: string;
  stage: { type: "in_progress" } | { type: "ended"; reason: FinishReason | undefined } | {
    type: "failed";
    error: Record<string, unknown>;
  };
  output: readonly Item[];
  usage: Usage | undefined;
}

/** The settings of a request that its response repeats. */
export type EchoedSettings = JsonRecord & { input?: never };

/** A stream repeats each setting three times, and writes it without a break. */
const maxEchoedUnits = 256 * 1024;

/** Returns the request's settings, without those that are too large to be repeated. */
export function echoedSettings(body: unknown): EchoedSettings {
  const settings = Object.entries(asRecord(body)).filter(([name, value]) =>
    name !== "input" && isWrittenWithin(value, maxEchoedUnits)
  );
  // OpenAI doesn't repeat credentials either; and a background call's answer is stored.
  return asRecord(withMaskedCredentials(Object.fromEntries(settings), credentialFields));
}

/**
 * Returns the response object with every key: the request's settings, or the defaults that apply.
 */
export function responseObject(
  request: EchoedSettings,
  state: ResponseState,
): Record<string, unknown> {
  const ending = state.stage.type === "ended" ? writeFinishReason(state.stage.reason) : undefined;
  const incompleteReason = ending?.incompleteReason;
  return {
    id: state.id,
    object: "response",
    created_at: state.created,
    completed_at: ending?.status === "completed" ? state.completed ?? null : null,
    status: ending?.status ?? state.stage.type,
    background: false,
    error: state.stage.type === "failed" ? state.stage.error : null,
    // In a request, any other value is reported as not supported.
    frequency_penalty: 0,
    incomplete_details: incompleteReason === undefined ? null : { reason: incompleteReason },
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    model: state.model,
    output: state.output,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    presence_penalty: 0,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: echoReasoning(request.reasoning),
    safety_identifier: request.safety_identifier ?? null,
    service_tier: echoTier(request, state),
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: echoText(request.text),
    tool_choice: request.tool_choice ?? "auto",
    tools: echoTools(request.tools),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? "disabled",
    ...toolUsage(state),
    usage: state.usage && state.stage.type !== "in_progress" ? writeUsage(state.usage) : null,
    user: request.user ?? null,
    metadata: request.metadata ?? {},
    access_programs: null,
  };
}

/**
 * Returns the number of searches, if any: they are billed in addition to the tokens. The type has
 * both tools, so the other one is there with zeros.
 */
function toolUsage({ usage, stage }: ResponseState): Record<string, unknown> {
  if (usage?.webSearches === undefined || stage.type === "in_progress") return {};
  const none = { image_tokens: 0, text_tokens: 0 };
  const images = {
    input_tokens: 0,
    input_tokens_details: none,
    output_tokens: 0,
    output_tokens_details: none,
    total_tokens: 0,
  };
  return { tool_usage: { image_gen: images, web_search: { num_requests: usage.webSearches } } };
}

function echoReasoning(reasoning: unknown): unknown {
  const asked = asRecord(reasoning);
  return { effort: asked.effort ?? null, summary: asked.summary ?? asked.generate_summary ?? null };
}

function echoText(text: unknown): unknown {
  const asked: JsonRecord = asRecord(text);
  return { format: asked.format ?? { type: "text" }, verbosity: asked.verbosity ?? "medium" };
}

/** Returns the tools, functions with the fields that the schema requires. */
function echoTools(tools: unknown): unknown[] {
  if (!Array.isArray(tools)) return [];
  return tools.map((tool: unknown) =>
    isRecord(tool) && tool.type === "function"
      ? {
        ...tool,
        description: tool.description ?? null,
        parameters: tool.parameters ?? null,
        strict: tool.strict ?? false,
      }
      : tool
  );
}

const tiers: ReadonlySet<unknown> = new Set([
  "auto",
  "default",
  "flex",
  "scale",
  "priority",
  "fast",
  "ultrafast",
]);

/**
 * Returns the requested tier, and at the end the tier that was used, or `default` if this dialect
 * has no name for it.
 */
function echoTier(request: EchoedSettings, state: ResponseState): unknown {
  if (state.stage.type === "in_progress") return request.service_tier ?? "auto";
  const used = state.usage?.serviceTier;
  return tiers.has(used) ? used : "default";
}
