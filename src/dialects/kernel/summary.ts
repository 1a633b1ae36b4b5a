import { Fault } from "../../shared/fault.ts";
import type { CanonicalAnswer, CanonicalChoice } from "./canonical.ts";
import type { CanonicalRequest } from "./canonical_request.ts";

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
 */
export function requireSummary(
  { choices }: CanonicalAnswer,
  asked?: CanonicalRequest["asksForSummary"],
): void {
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
