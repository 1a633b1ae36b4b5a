import type { CanonicalRequest, Loss, Reasoning } from "../../../kernel/canonical_request.ts";
import type { Thinking, ThinkingLevel } from "../models.ts";
import { loseSetting } from "../../../kernel/setting_losses.ts";

/**
 * `thinkingConfig` for a model: a budget or a level, never both. What the model can't express is a
 * loss.
 */
export function writeThinking(
  request: CanonicalRequest,
  thinking: Thinking,
  losses: Loss[],
): Record<string, unknown> | undefined {
  const { reasoning } = request;
  if (!reasoning) return undefined;
  const { effort, budgetTokens } = reasoning;
  const isAsked = effort !== undefined || (budgetTokens !== undefined && budgetTokens >= 0);
  if (thinking.by === "none") {
    const isOff = effort === "none" || budgetTokens === 0;
    if (isAsked && !isOff) loseSetting(request, "reasoning", "hint", losses);
    return undefined;
  }
  const config: Record<string, unknown> = {};
  if (isAsked) {
    if (thinking.by === "budget") config.thinkingBudget = budgetOf(reasoning, thinking);
    else config.thinkingLevel = levelOf(reasoning, thinking.levels);
  }
  if (reasoning.show === true) config.includeThoughts = true;
  return Object.keys(config).length === 0 ? undefined : config;
}

type Effort = NonNullable<Reasoning["effort"]>;

const budgets: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: Infinity,
  max: Infinity,
};

function budgetOf(reasoning: Reasoning, limits: { least: number; most: number }): number {
  const wanted = reasoning.budgetTokens ?? budgets[reasoning.effort ?? "medium"];
  return Math.min(limits.most, Math.max(limits.least, wanted));
}

const order: readonly ThinkingLevel[] = ["MINIMAL", "LOW", "MEDIUM", "HIGH"];

const levels: Readonly<Record<Effort, ThinkingLevel>> = {
  none: "MINIMAL",
  minimal: "MINIMAL",
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH",
};

/** The wanted level, else the next higher one that the model accepts. */
function levelOf(reasoning: Reasoning, takes: readonly ThinkingLevel[]): ThinkingLevel {
  const wanted = levels[reasoning.effort ?? effortOf(reasoning.budgetTokens ?? 0)];
  return order.slice(order.indexOf(wanted)).find((level) => takes.includes(level)) ?? takes.at(-1)!;
}

function effortOf(budgetTokens: number): Effort {
  if (budgetTokens === 0) return "none";
  return budgetTokens < 2048 ? "low" : budgetTokens < 8192 ? "medium" : "high";
}
