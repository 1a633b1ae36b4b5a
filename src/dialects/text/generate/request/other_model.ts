import { asRecord, asString } from "../../../kernel/json.ts";
import { modelTraits } from "../models.ts";

/**
 * Whether this model refuses the level of thinking that a request asks of another one. Models with
 * levels take budgets, too.
 */
export function refusesLevel(body: unknown, model: string): boolean {
  const request = asRecord(body);
  const config = asRecord(request.generationConfig ?? request.generation_config);
  const thinks = asRecord(config.thinkingConfig ?? config.thinking_config);
  const level = asString(thinks.thinkingLevel ?? thinks.thinking_level)?.toUpperCase();
  if (level === undefined || level === "THINKING_LEVEL_UNSPECIFIED") return false;
  const { thinking } = modelTraits(model);
  return thinking.by !== "level" || !thinking.levels.some((one) => one === level);
}
