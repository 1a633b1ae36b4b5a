import type { Steps } from "../../base/steps.ts";
import type { AnswerPart, CanonicalAnswer } from "./canonical.ts";
import type { AnswerContext, Dialect } from "./dialect.ts";
import { innerJson, isRecord, type JsonRecord } from "./json.ts";

/**
 * Returns a call's arguments as an object, empty if there are none; undefined if the text isn't an
 * object.
 */
export function readArguments(
  { text, ahead }: Pick<AnswerPart, "text" | "ahead">,
): JsonRecord | undefined {
  if (ahead?.text === text) return ahead.read;
  if (text.trim() === "") return {};
  const json = innerJson(text);
  return isRecord(json) ? json : undefined;
}

/**
 * Reads the arguments of an answer's calls for dialects that have them as objects, a call at a time.
 * Encoders, which write an answer at once, find them read.
 */
export function* readArgumentsAhead({ choices }: CanonicalAnswer): Steps<void> {
  for (const part of choices.flatMap(({ parts }) => parts)) {
    if (part.kind !== "tool-call" || part.custom) continue;
    part.ahead = { text: part.text, read: readArguments(part) };
    yield;
  }
}

/** `encodeAnswer` in steps. */
export function* encodeInSteps(
  dialect: Pick<Dialect, "encodeAnswer" | "readAhead">,
  answer: CanonicalAnswer,
  context?: AnswerContext,
): Steps<unknown> {
  if (dialect.readAhead) yield* dialect.readAhead(answer);
  return dialect.encodeAnswer(answer, context);
}
