import { Fault } from "../../shared/fault.ts";
import type { CanonicalAnswer, CanonicalChoice } from "./canonical.ts";
import type { CanonicalRequest } from "./canonical_request.ts";

/**
 * The summary in the answer to a request for one: its text, which may have been cut by its length.
 * Undefined where there is none, where the answer was refused or never ended, and where it calls a
 * tool: the text before a call announces it.
 */
export function summaryIn({ parts, finish }: CanonicalChoice): string | undefined {
  if (finish === undefined || finish.reason === "content_filter") return undefined;
  if (parts.some(({ kind }) => kind === "refusal" || kind === "tool-call")) return undefined;
  const text = parts.map((part) => part.kind === "text" ? part.text : "").join("").trim();
  return text === "" ? undefined : text;
}

/**
 * Throws upstream_invalid_response for an answer that ended by itself without the summary that it
 * was to be: the caller would replace its conversation by nothing. Where one is `required`, one that
 * was cut or blocked can't be answered either.
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
