import { Fault } from "../../shared/fault.ts";
import type { CanonicalAnswer, CanonicalChoice } from "./canonical.ts";
import type { CanonicalRequest } from "./canonical_request.ts";

/** The question to a model in place of the request for a summary, which its vendor doesn't know. */
export const summaryQuestion =
  "The context is nearly full. Write a summary of this whole conversation: it will replace the " +
  "conversation, and whoever continues the work, you or another model, will know nothing " +
  "else of it but some of the user's own messages.\n\n" +
  "Say what the user wants, with all wishes, limits and preferences; what has been decided, and " +
  "why; what has been done and found out, with the names, paths, commands, values, error " +
  "messages and pieces of code that are still needed, exactly as they are; what failed; where " +
  "the work stands, what is left to do, and what comes next. Of an earlier summary carry over " +
  "all that still counts.\n\n" +
  "Don't go on with the work, don't call a tool and don't address the user. Answer with the " +
  "summary alone, as plain text.";

/** Returns the text of the user message that gives a model the summary. */
export function summaryText(summary: string): string {
  return `The conversation up to here was replaced by this summary. Go on from it.\n\n${summary}`;
}

/**
 * Returns the text of the summary in an answer that was asked for one; the output limit may have
 * cut it. Undefined if there is no text, if the answer was refused or never ended, and if it calls
 * a tool: the text before a call only announces it.
 */
export function summaryIn({ parts, finish }: CanonicalChoice): string | undefined {
  if (finish === undefined || finish.reason === "content_filter") return undefined;
  if (parts.some(({ kind }) => kind === "refusal" || kind === "tool-call")) return undefined;
  const text = parts.map((part) => part.kind === "text" ? part.text : "").join("").trim();
  return text === "" ? undefined : text;
}

/**
 * Throws upstream_invalid_response if an answer ended normally without the summary that it was
 * asked for: the caller would replace its conversation with nothing. If a summary is `required`, an
 * answer that was cut off or blocked without one is refused too, since its form holds nothing else.
 * If it is `optional`, the caller's dialect has a form for an answer without one.
 */
export function requireSummary(
  { choices }: CanonicalAnswer,
  asked?: CanonicalRequest["asksForSummary"],
): void {
  if (asked === "optional") return;
  const choice = choices.find(({ index }) => index === 0);
  const reason = choice?.finish?.reason;
  const hasForm = !choice || reason === undefined || reason === "length" ||
    reason === "content_filter";
  if (hasForm && asked !== "required") return;
  if (choice && summaryIn(choice) !== undefined) return;
  throw new Fault("upstream_invalid_response", {
    message: "The model wrote no summary of the conversation. Retry the request.",
  });
}
