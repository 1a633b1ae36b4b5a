import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import { mendJson } from "../base/mend_json.ts";
import type { AnswerPart, CanonicalAnswer } from "../dialects/kernel/canonical.ts";
import { innerJson, isRecord } from "../dialects/kernel/json.ts";

/** A streamed answer's text for the record. */
export interface RecordedAnswer {
  text?: string;
  /** The text is not the whole answer. */
  isCut: boolean;
  /** It has no form in its caller's dialect as it was. */
  errorCode?: ErrorCode;
}

type Encode = (answer: CanonicalAnswer) => unknown;
type Attempt = <T>(act: () => T, otherwise: () => T) => T;

/**
 * The folded whole of what was streamed. What has no form in the caller's dialect is mended: of
 * calls whose arguments broke off, or never were an object, stays what can be read. Throws nothing
 * that `attempt` catches.
 */
export function recordedAnswer(
  fold: () => CanonicalAnswer,
  encode: Encode,
  attempt: Attempt,
): RecordedAnswer {
  const failed = { errorCode: "upstream_invalid_response" } as const;
  return attempt<RecordedAnswer>(
    () => written(fold(), encode),
    () =>
      attempt<RecordedAnswer>(
        () => ({ ...written(mendedAnswer(fold()), encode), ...failed, isCut: true }),
        () => ({ ...failed, isCut: true }),
      ),
  );
}

function written(answer: CanonicalAnswer, encode: Encode): RecordedAnswer {
  if (answer.choices.length === 0) return { isCut: false };
  return { text: JSON.stringify(encode(answer)), isCut: answer.truncated };
}

function mendedAnswer(answer: CanonicalAnswer): CanonicalAnswer {
  const choices = answer.choices.map((choice) => ({ ...choice, parts: choice.parts.map(mended) }));
  return { ...answer, choices };
}

function mended(part: AnswerPart): AnswerPart {
  if (part.kind !== "tool-call" || isRecord(innerJson(part.text))) return part;
  for (const value of mendJson(part.text)) {
    if (isRecord(value)) return { ...part, text: JSON.stringify(value) };
  }
  return { ...part, text: part.text === "" ? "{}" : JSON.stringify({ unreadable: part.text }) };
}
