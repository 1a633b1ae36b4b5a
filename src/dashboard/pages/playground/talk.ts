import {
  type Effort,
  efforts,
  type PlaygroundRequest,
} from "../../../playground/playground_calls.ts";
import { count } from "../../amounts.ts";
import type { Form } from "../../form.ts";

/** A conversation as read from the form, with all that is needed to show the form again. */
export interface Talk {
  request: PlaygroundRequest;
  /** The text as it was typed, as is `maxTokens`. */
  temperature: string;
  maxTokens: string;
  fieldErrors: Partial<Record<TalkField, string>>;
}

export type TalkField = "model" | "prompt" | "temperature" | "token_limit" | "effort" | "turns";

/** The most characters in one text; below, the most messages in one conversation. */
export const maxTextLength = 200_000;
const maxTurns = 200;
const most = count(maxTextLength);

/** Reads the form: earlier turns as `role` and `content`, the next one as `prompt`. */
export function readTalk(form: Form): Talk {
  const fieldErrors: Talk["fieldErrors"] = {};
  const { role = [], content = [] } = form.values();
  const turns = role.map((one, at) => ({
    role: one === "assistant" ? "assistant" as const : "user" as const,
    text: content[at] ?? "",
  }));
  if (role.length !== content.length || turns.length > maxTurns) {
    fieldErrors.turns = `A conversation takes at most ${maxTurns} messages. Start over.`;
  }
  // Keeps blanks around the message: code may begin with them.
  const { prompt = "" } = form.filledExactly("prompt");
  const tooLong = (text: string) => text.length > maxTextLength;
  if (content.some(tooLong)) {
    fieldErrors.turns = `An earlier message has more than ${most} characters. Start over.`;
  }
  if (tooLong(form.text("system")) || tooLong(prompt)) {
    fieldErrors.prompt = `A message or system prompt takes at most ${most} characters.`;
  }
  const model = form.text("model");
  if (model === "") fieldErrors.model = "Pick a model.";
  const temperature = form.text("temperature");
  const maxTokens = form.text("token_limit");
  const request: PlaygroundRequest = {
    model,
    system: form.text("system"),
    turns: prompt === "" ? turns : [...turns, { role: "user", text: prompt }],
    temperature: numberOf(temperature, "temperature", fieldErrors),
    maxOutputTokens: numberOf(maxTokens, "token_limit", fieldErrors),
    effort: effortOf(form.text("effort"), fieldErrors),
  };
  return { request, temperature, maxTokens, fieldErrors };
}

/** Whether the conversation doesn't end with a message to send. */
export function hasNoPrompt({ request: { turns } }: Talk): boolean {
  return turns.at(-1)?.role !== "user";
}

const limits = {
  temperature: {
    pattern: /^\d(\.\d{1,3})?$/,
    max: 2,
    says: "Expected a temperature from 0 to 2, such as 0.7.",
  },
  token_limit: {
    pattern: /^[1-9]\d{0,6}$/,
    max: 9_999_999,
    says: "Expected a whole number as the token limit, such as 500.",
  },
} as const;

function numberOf(
  text: string,
  field: keyof typeof limits,
  fieldErrors: Talk["fieldErrors"],
): number | undefined {
  if (text === "") return undefined;
  const { pattern, max, says } = limits[field];
  const value = Number(text);
  if (pattern.test(text) && value <= max) return value;
  fieldErrors[field] = says;
  return undefined;
}

function effortOf(text: string, fieldErrors: Talk["fieldErrors"]): Effort | undefined {
  if (text === "") return undefined;
  const effort = efforts.find((one) => one === text);
  if (!effort) fieldErrors.effort = `One of ${efforts.join(", ")}.`;
  return effort;
}
