import type { ModelInfo } from "@anthropic-ai/sdk/resources/models";

/** A model of the messages vendor, with what it accepts and refuses. */
export interface MessagesModel {
  id: string;
  displayName: string;
  createdAt: string;
  line: ModelInfo["line"];
  maxOutputTokens: number;
  contextTokens: number;
  /** Accepts temperature, top_p and top_k (under the older version header). */
  hasSampling: boolean;
  /** The `thinking` types that it accepts. */
  thinking: readonly ("enabled" | "adaptive" | "disabled" | "between_tools")[];
  /** Thinks unless told not to. */
  thinksByDefault: boolean;
  /** Thinking text shows unless `display` says otherwise. */
  showsThinking: boolean;
  /** Accepts `tool_choice` any and tool. */
  hasForcedTools: boolean;
  /** Thinking blocks are refused without a signature of the vendor's. */
  signsThinking: boolean;
  /** Thinking blocks are refused if what precedes them has changed. */
  bindsThinking: boolean;
  hasMidSystem: boolean;
}

function newest(
  id: string,
  line: MessagesModel["line"],
  more: Partial<MessagesModel>,
): MessagesModel {
  return {
    id,
    displayName: nameOf(id),
    createdAt: "2026-09-15T00:00:00Z",
    line,
    maxOutputTokens: 128_000,
    contextTokens: 1_000_000,
    hasSampling: false,
    thinking: ["adaptive"],
    thinksByDefault: true,
    showsThinking: false,
    hasForcedTools: false,
    signsThinking: true,
    bindsThinking: true,
    hasMidSystem: true,
    ...more,
  };
}

function older(
  id: string,
  line: MessagesModel["line"],
  more: Partial<MessagesModel>,
): MessagesModel {
  return newest(id, line, {
    createdAt: "2026-02-05T00:00:00Z",
    thinking: ["enabled", "adaptive", "disabled"],
    thinksByDefault: false,
    showsThinking: true,
    hasForcedTools: true,
    bindsThinking: false,
    hasMidSystem: false,
    ...more,
  });
}

/** Newest first, as the vendor lists them. */
export const MESSAGES_MODELS: readonly MessagesModel[] = [
  newest("claude-opus-5-5", "opus", {}),
  newest("claude-sonnet-5-5", "sonnet", { thinking: ["adaptive", "between_tools"] }),
  newest("claude-haiku-5-5", "haiku", {
    thinking: ["adaptive", "disabled"],
    hasForcedTools: true,
    thinksByDefault: false,
  }),
  newest("claude-fable-5-1", "fable", {}),
  older("claude-opus-5", "opus", { hasMidSystem: true, createdAt: "2026-07-01T00:00:00Z" }),
  older("claude-sonnet-5", "sonnet", { hasMidSystem: true, createdAt: "2026-06-20T00:00:00Z" }),
  older("claude-opus-4-8", "opus", { hasMidSystem: true, createdAt: "2026-05-10T00:00:00Z" }),
  older("claude-sonnet-4-6", "sonnet", { hasSampling: true }),
  older("claude-opus-4-6", "opus", { hasSampling: true }),
  older("claude-haiku-4-5", "haiku", {
    hasSampling: true,
    maxOutputTokens: 64_000,
    contextTokens: 200_000,
    thinking: ["enabled", "disabled"],
    createdAt: "2025-10-15T00:00:00Z",
  }),
];

/** The entry of the model list. */
export function modelInfo(model: MessagesModel): ModelInfo {
  const supported = (yes: boolean) => ({ supported: yes });
  const yes = supported(true);
  const no = supported(false);
  const thinks = (type: MessagesModel["thinking"][number]) =>
    supported(model.thinking.includes(type));
  return {
    type: "model",
    id: model.id,
    display_name: model.displayName,
    created_at: model.createdAt,
    max_input_tokens: model.contextTokens,
    max_tokens: model.maxOutputTokens,
    lifecycle: "active",
    deprecated_at: null,
    retires_at: null,
    line: model.line,
    capabilities: {
      batch: yes,
      citations: yes,
      code_execution: yes,
      context_management: {
        supported: true,
        clear_thinking_20251015: yes,
        clear_tool_uses_20250919: yes,
        compact_20260112: yes,
      },
      effort: { supported: true, low: yes, medium: yes, high: yes, xhigh: yes, max: yes },
      image_input: yes,
      pdf_input: yes,
      server_tools: { supported: false, code_execution: no, web_search: no },
      structured_outputs: yes,
      thinking: {
        supported: true,
        types: {
          adaptive: thinks("adaptive"),
          between_tools: thinks("between_tools"),
          disabled: thinks("disabled"),
          enabled: thinks("enabled"),
        },
      },
    },
  };
}

function nameOf(id: string): string {
  const [, line = "", ...version] = id.split("-");
  return `Claude ${line.charAt(0).toUpperCase()}${line.slice(1)} ${version.join(".")}`;
}
