import type { CanonicalRequest, Loss, Reasoning } from "../../../kernel/canonical_request.ts";
import type { ArrangedTurn } from "./arrange_turns.ts";
import type { ModelFacts } from "../models.ts";
import { effortOf } from "../../../kernel/reasoning.ts";
import { loseSetting } from "../../../kernel/setting_losses.ts";

/** The thinking settings to send, and an output limit that fits them. */
interface ThinkingPlan {
  thinking?: Record<string, unknown>;
  /** `output_config.effort`. */
  effort?: string;
  maxTokens: number;
  isOn: boolean;
}

/** Used if neither the caller nor the table has a limit. */
const usualMaxTokens = 4_096;
/** The vendor refuses smaller budgets. */
const minBudget = 1_024;

const budgets: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 1_024,
  medium: 4_096,
  high: 16_384,
  xhigh: 32_768,
};

export function planThinking(request: CanonicalRequest, facts: ModelFacts, at: {
  /** The model's limit of output tokens, if known. */
  limit: number | undefined;
  isForced: boolean;
  turns: readonly ArrangedTurn[];
}, losses: Loss[]): ThinkingPlan {
  const maxTokens = maxTokensOf(request, at.limit);
  const lose = () => loseSetting(request, "reasoning", "hint", losses);
  const wish = requestedReasoning(request.reasoning);
  if (wish === undefined) return { maxTokens, isOn: false };
  if (wish === "off") return { ...switchedOff(facts, lose), maxTokens, isOn: false };
  if (!facts.adaptive && !facts.budget) {
    lose();
    return { maxTokens, isOn: false };
  }
  const isUnthought = callsWithoutThinking(at.turns);
  // A budget is sent as a budget if the model accepts one, and here and now.
  const asBudget = facts.budget && !(facts.adaptive && isUnthought);
  const effort = facts.adaptive
    ? effortFor(wish, { xhigh: facts.xhigh, budget: asBudget })
    : undefined;
  const effortField = effort === undefined ? {} : { effort };
  // The caller forced a tool explicitly, which excludes thinking.
  if (at.isForced) {
    lose();
    return { ...effortField, maxTokens, isOn: false };
  }
  const display = wish.show === undefined ? {} : { display: wish.show ? "summarized" : "omitted" };
  const wantsBudget = asBudget && (wish.budgetTokens !== undefined || !facts.adaptive);
  if (!wantsBudget) {
    return { thinking: { type: "adaptive", ...display }, ...effortField, maxTokens, isOn: true };
  }
  const budget = budgetOf(wish, at.limit ?? maxTokens);
  // A wish to see reasoning doesn't switch it on.
  if (budget === undefined) return { maxTokens, isOn: false };
  if (isUnthought) {
    lose();
    return { thinking: { type: "disabled" }, maxTokens, isOn: false };
  }
  const fitted = fit(request, budget, at.limit, maxTokens);
  if (fitted.budget < minBudget) {
    lose();
    return { maxTokens, isOn: false };
  }
  return {
    thinking: {
      type: "enabled",
      budget_tokens: fitted.budget,
      // Models that accept only budgets are older than this field.
      ...(facts.adaptive ? display : {}),
    },
    ...(wish.effort === undefined ? {} : effortField),
    maxTokens: fitted.maxTokens,
    isOn: true,
  };
}

/** Returns the caller's limit, capped by the model's; by default the model's. */
function maxTokensOf(request: CanonicalRequest, limit: number | undefined): number {
  const asked = request.maxOutputTokens;
  if (asked === undefined) return limit ?? usualMaxTokens;
  return Math.max(1, limit === undefined ? asked : Math.min(asked, limit));
}

/**
 * Returns the requested reasoning. A negative budget leaves the amount to the model, as does no
 * setting at all.
 */
function requestedReasoning(reasoning: Reasoning | undefined): Reasoning | "off" | undefined {
  if (!reasoning) return undefined;
  const { budgetTokens, effort, show } = reasoning;
  if (effortOf(reasoning) === "none") return "off";
  if (budgetTokens !== undefined && budgetTokens <= 0) {
    return { ...(effort === undefined ? {} : { effort }), show: show ?? true };
  }
  return reasoning;
}

function switchedOff(
  facts: ModelFacts,
  lose: () => void,
): Pick<ThinkingPlan, "thinking" | "effort"> {
  if (facts.off !== undefined) return { thinking: { type: facts.off } };
  if (!facts.adaptive) return {};
  // Thinking can't be switched off: the lowest effort comes closest.
  lose();
  return { effort: "low" };
}

function effortFor(
  wish: Reasoning,
  facts: Pick<ModelFacts, "xhigh" | "budget">,
): string | undefined {
  if (wish.effort === undefined && facts.budget) return undefined;
  const effort = effortOf(wish);
  if (effort === "minimal") return "low";
  return effort === "xhigh" && !facts.xhigh ? "max" : effort;
}

function budgetOf(wish: Reasoning, limit: number): number | undefined {
  if (wish.budgetTokens !== undefined) return Math.max(minBudget, wish.budgetTokens);
  if (wish.effort === undefined) return undefined;
  return budgets[wish.effort] ?? Math.max(minBudget, Math.trunc(limit / 2));
}

/**
 * Reduces the budget below the output limit, which is raised only if neither the caller nor the
 * model sets one.
 */
function fit(
  request: CanonicalRequest,
  budget: number,
  limit: number | undefined,
  maxTokens: number,
): { budget: number; maxTokens: number } {
  if (budget < maxTokens) return { budget, maxTokens };
  if (request.maxOutputTokens !== undefined || limit !== undefined) {
    return { budget: maxTokens - 1, maxTokens };
  }
  return { budget, maxTokens: budget + maxTokens };
}

/**
 * Whether the last answer called tools without thinking first, which is refused with a budget. An
 * adaptive model decides for itself whether it thinks.
 */
function callsWithoutThinking(turns: readonly ArrangedTurn[]): boolean {
  const last = turns.findLast((turn) => turn.role === "assistant");
  return last?.parts.some((part) => part.type === "tool-call") === true &&
    last.parts[0]?.type !== "reasoning";
}
