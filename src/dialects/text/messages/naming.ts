import { locateSteps, splice } from "../../../base/json_text.ts";
import type { Steps } from "../../../base/steps.ts";
import type { Naming } from "../../kernel/dialect.ts";

/**
 * Replaces the model's name in an answer. Coding agents drop signed thinking from their history if
 * the answer names another model than they requested.
 */
export const naming: Naming = {
  whole: (text, model) => named(text, ["model"], model),
  *event({ event = "message_start", data }, model) {
    return event === "message_start" ? yield* named(data, ["message", "model"], model) : data;
  },
};

function* named(text: string, path: readonly string[], model: string): Steps<string> {
  const range = yield* locateSteps(text, path);
  return range ? splice(text, [{ ...range, text: JSON.stringify(model) }]) : text;
}
