import type { CanonicalRequest, Loss, Reasoning } from "../../../kernel/canonical_request.ts";
import type { Thinking, ThinkingLevel } from "../models.ts";
import { effortOf, nearestLevel } from "../../../kernel/reasoning.ts";
import { loseSetting } from "../../../kernel/setting_losses.ts";

/**
 * Writes `thinkingConfig` for a model: a budget or a level, never both. A setting that the model
 * can't express is a loss.
 */
export function writeThinking(
  request: CanonicalRequest,
  thinking: Thinking,
  losses: Loss[],
): Record<string, unknown> | undefined {
  const { reasoning } = request;
  if (!reasoning) return undefined;
  const effort = effortOf(reasoning);
  if (thinking.by === "none") {
    if (effort !== undefined && effort !== "none") {
      loseSetting(request, "reasoning", "hint", losses);
    }
    return undefined;
  }
  const config: Record<string, unknown> = {};
  if (effort !== undefined) {
    if (thinking.by === "level") config.thinkingLevel = levelOf(effort, thinking.levels);
    else config.thinkingBudget = budgetOf(reasoning.budgetTokens ?? budgets[effort], thinking);
  }
  // The vendor refuses to show thoughts where thinking is off.
  if (reasoning.show === true && config.thinkingBudget !== 0) config.includeThoughts = true;
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

function budgetOf(wanted: number, limits: { least: number; most: number }): number {
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

/** Returns the wanted level, or else the next higher one that the model accepts, or its highest. */
function levelOf(effort: Effort, supported: readonly ThinkingLevel[]): ThinkingLevel {
  return nearestLevel(levels[effort], { levels: order, supported });
}
