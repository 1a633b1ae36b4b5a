import { asRecord, isRecord } from "../../../kernel/json.ts";
import { isListed, type ModelFacts, modelFacts } from "../models.ts";

/**
 * Whether this model refuses what a request asks of another one: a form of thinking, an effort, a
 * temperature, system messages between turns, an answer's schema, a demanded tool or an output limit
 * that models of another age take. Of models that aren't listed nothing is known.
 */
export function refusesForm(body: unknown, model: string): boolean {
  if (!isListed(model)) return false;
  const facts = modelFacts(model);
  const { messages, max_tokens: limit = 0, ...settings } = asRecord(body);
  const { effort, format } = asRecord(settings.output_config);
  const isSampled = [settings.temperature, settings.top_p, settings.top_k].some(isSet);
  const isForced = ["any", "tool"].includes(String(asRecord(settings.tool_choice).type));
  return refusesThinking(settings.thinking, facts) ||
    (isSet(effort) && !facts.adaptive) ||
    (isSet(format) && !facts.structuredOutput) ||
    (isSampled && !facts.sampling) ||
    (isForced && !facts.forcedTools) ||
    Number(limit) > (facts.maxOutputTokens ?? Infinity) ||
    (!facts.systemTurns && Array.isArray(messages) &&
      messages.some((message) => isRecord(message) && message.role === "system"));
}

function refusesThinking(thinking: unknown, { adaptive, budget, off }: ModelFacts): boolean {
  const { type } = asRecord(thinking);
  if (type === "adaptive") return !adaptive;
  if (type === "enabled") return !budget;
  return type === "disabled" && adaptive && off !== "disabled";
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
