import { locateSteps, splice } from "../../../base/json_text.ts";
import { finish, type Steps } from "../../../base/steps.ts";
import type { Naming } from "../../kernel/dialect.ts";

/**
 * Replaces the model's name in an answer. Coding agents drop signed thinking from their history if
 * the answer names another model than they requested.
 */
export const naming: Naming = {
  whole: (text, model) => named(text, ["model"], model),
  event(sent, model) {
    const { bytes } = sent;
    if ((sent.event ?? "message_start") !== "message_start") return bytes;
    const { data } = sent;
    if (data === undefined) return bytes;
    const text = new TextDecoder().decode(bytes);
    const at = text.indexOf(data);
    // No known vendor splits data over several lines; such an event stays as it is.
    if (at < 0) return bytes;
    const changed = finish(named(data, ["message", "model"], model));
    return new TextEncoder().encode(text.slice(0, at) + changed + text.slice(at + data.length));
  },
};

function* named(text: string, path: readonly string[], model: string): Steps<string> {
  const range = yield* locateSteps(text, path);
  return range ? splice(text, [{ ...range, text: JSON.stringify(model) }]) : text;
}
