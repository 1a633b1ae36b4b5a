import { messagesModels, type ModelFacts, unknownClaude, unknownModel } from "./model_table.ts";

/**
 * What a model of the messages dialect takes, by its name (messages.md §8): the longest name of the
 * table that the model's contains. Dots in names count as hyphens (`sonnet-4.5`).
 */
export function modelFacts(model: string): ModelFacts {
  const name = model.toLowerCase().replaceAll(".", "-");
  let best: { part: string; facts: ModelFacts } | undefined;
  for (const [part, facts] of messagesModels) {
    if (name.includes(part) && part.length > (best?.part.length ?? 0)) best = { part, facts };
  }
  return best?.facts ?? (name.includes("claude") ? unknownClaude : unknownModel);
}
