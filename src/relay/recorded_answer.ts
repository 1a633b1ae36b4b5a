import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import { mendJson } from "../base/mend_json.ts";
import type { AnswerPart, CanonicalAnswer } from "../dialects/kernel/canonical.ts";
import { innerJson, isRecord } from "../dialects/kernel/json.ts";

/** The text of a streamed answer for its record. */
export interface RecordedAnswer {
  text?: string;
  /** The text is not the whole answer. */
  isCut: boolean;
  /** Only log-probabilities are missing: the answer can be continued. */
  lacksLogprobs?: true | undefined;
  /**
   * Set if the answer had to be repaired, or could not be written in the caller's dialect at all.
   */
  errorCode?: ErrorCode;
}

type Encode = (answer: CanonicalAnswer) => unknown;
type Attempt = <T>(act: () => T, otherwise: () => T) => T;

/**
 * Folds a stream into the text for its record. What the caller's dialect can't express is repaired:
 * broken tool-call arguments keep what can be read. Throws only what `attempt` does not catch.
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
  const { truncated: isCut, lacksLogprobs } = answer;
  return { text: JSON.stringify(encode(answer)), isCut, lacksLogprobs };
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
