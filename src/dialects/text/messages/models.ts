import type { PlainRequest } from "../../kernel/dialect.ts";
import { asList, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { withoutRefusedThinking } from "./request/refused_thinking.ts";

/** The same path for every model. */
export function upstreamPath(): string {
  return "/messages";
}

export function withoutRefused(request: JsonRecord, refusal: string): PlainRequest | undefined {
  return withoutRefusedThinking(request, refusal) ?? systemInFront(request, refusal);
}

/**
 * Returns the request with its system turns moved to the front, if a server refuses them: not every
 * server that has a model of this name accepts what Anthropic's own accepts.
 */
function systemInFront(request: JsonRecord, refusal: string): PlainRequest | undefined {
  const isBetween = (turn: unknown) => isRecord(turn) && turn.role === "system";
  const messages = asList(request.messages);
  const between = messages.filter(isBetween).flatMap((turn) =>
    asList((turn as JsonRecord).content)
  );
  const cause = /\b(role|system)\b/i.exec(refusal)?.[0];
  if (between.length === 0 || cause === undefined) return undefined;
  const system = [...asList(request.system), ...between];
  const plain = { ...request, system, messages: messages.filter((turn) => !isBetween(turn)) };
  return { request: plain, cause };
}

/**
 * Returns what a model accepts: the entry with the longest name that the model's name contains.
 * Dots in names count as hyphens (`sonnet-4.5`); a Mythos accepts the same as the Fable of its
 * version.
 */
export function modelFacts(model: string): ModelFacts {
  return listedFacts(model) ??
    (model.toLowerCase().includes("claude") ? unknownClaude : unknownModel);
}

/** Whether it is known what the model accepts. */
export function isListed(model: string): boolean {
  return listedFacts(model) !== undefined;
}

function listedFacts(model: string): ModelFacts | undefined {
  const name = model.toLowerCase().replaceAll(".", "-").replace("mythos", "fable");
  let best: { part: string; facts: ModelFacts } | undefined;
  for (const [part, facts] of messagesModels) {
    if (holds(name, part) && part.length > (best?.part.length ?? 0)) best = { part, facts };
  }
  return best?.facts;
}

/**
 * Whether a model's name contains this part without a digit after it: `fable-5-20260609` isn't a
 * `fable-5-2`.
 */
function holds(name: string, part: string): boolean {
  const at = name.indexOf(part);
  return at >= 0 && !/\d/.test(name.charAt(at + part.length));
}

export interface ModelFacts {
  maxOutputTokens: number | undefined;
  /** `output_config.format` and strict tools. */
  structuredOutput: boolean;
  /** temperature, top_p, top_k. */
  sampling: boolean;
  /** Accepts `top_p` together with `temperature`. */
  bothSamplings: boolean;
  /** `thinking.enabled` with a budget. */
  budget: boolean;
  /** `thinking.adaptive` with `output_config.effort`. */
  adaptive: boolean;
  /** Effort `xhigh`, below `max`. */
  xhigh: boolean;
  /** How to switch thinking off; undefined if it can't be, or if there is none. */
  off: "disabled" | "between_tools" | undefined;
  /** `tool_choice` any and tool. */
  forcedTools: boolean;
  webSearch: boolean;
  /** Messages of the role `system` after a user message; other models refuse the whole request. */
  systemTurns: boolean;
  /** The vendor doesn't cache prompts of fewer tokens. */
  minCacheableTokens: number;
}

const newest: ModelFacts = {
  maxOutputTokens: 128_000,
  structuredOutput: true,
  sampling: false,
  bothSamplings: false,
  budget: false,
  adaptive: true,
  xhigh: true,
  off: undefined,
  forcedTools: true,
  webSearch: true,
  systemTurns: true,
  minCacheableTokens: 1024,
};

const fifth: ModelFacts = { ...newest, budget: true, off: "disabled", systemTurns: false };
const generation46: ModelFacts = { ...fifth, sampling: true, xhigh: false };
const generation45: ModelFacts = { ...generation46, maxOutputTokens: 64_000, adaptive: false };
const generation40: ModelFacts = {
  ...generation45,
  structuredOutput: false,
  bothSamplings: true,
};
const third: ModelFacts = {
  ...generation40,
  maxOutputTokens: 4_096,
  budget: false,
  off: undefined,
  webSearch: false,
  minCacheableTokens: 2048,
};

/** Part of a model's name → what it accepts. */
const messagesModels: readonly (readonly [string, ModelFacts])[] = [
  ["sonnet-5-5", { ...newest, off: "between_tools", forcedTools: false }],
  ["opus-5-5", { ...newest, forcedTools: false }],
  ["haiku-5-5", { ...newest, off: "disabled" }],
  ["opus-5", { ...fifth, systemTurns: true, minCacheableTokens: 512 }],
  ["fable-5-2", { ...newest, forcedTools: false, minCacheableTokens: 512 }],
  ["fable-5-1", { ...newest, forcedTools: false, minCacheableTokens: 512 }],
  ["fable-5", { ...newest, minCacheableTokens: 512 }],
  ["opus-4-7", { ...fifth, minCacheableTokens: 2048 }],
  ["opus-4-8", { ...fifth, systemTurns: true }],
  // Sources contradict each other on its system turns; Claude Code stopped sending them to it.
  ["sonnet-5", fifth],
  ["sonnet-4-6", generation46],
  ["opus-4-6", { ...generation46, minCacheableTokens: 4096 }],
  ["sonnet-4-5", generation45],
  ["opus-4-5", { ...generation45, minCacheableTokens: 4096 }],
  ["haiku-4-5", { ...generation45, minCacheableTokens: 4096 }],
  ["opus-4-1", { ...generation45, maxOutputTokens: 32_000 }],
  ["sonnet-4", generation40],
  ["opus-4", { ...generation40, maxOutputTokens: 32_000 }],
  [
    "claude-3-7",
    {
      ...third,
      maxOutputTokens: 8_192,
      budget: true,
      off: "disabled",
      webSearch: true,
      minCacheableTokens: 1024,
    },
  ],
  ["claude-3-5", { ...third, maxOutputTokens: 8_192, webSearch: true }],
  ["claude-3", third],
  ["claude-2", third],
  ["claude-instant", third],
];

/** For a newer model of the family. */
const unknownClaude: ModelFacts = fifth;

/** For another maker's model in this dialect: what every such server accepts. */
const unknownModel: ModelFacts = { ...generation40, maxOutputTokens: undefined };
