import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import { beginning } from "../base/characters.ts";
import type { Step } from "../base/heavy_work.ts";
import { mendJson } from "../base/mend_json.ts";
import type { Steps } from "../base/steps.ts";
import { writeJson } from "../base/write_json.ts";
import type { AnswerPart, CanonicalAnswer } from "../dialects/kernel/canonical.ts";
import { innerJson, isRecord, maxInnerUnits } from "../dialects/kernel/json.ts";
import type { Media } from "../shared/media.ts";
import type { Ending } from "./ending.ts";
import type { CallMeter } from "./meter.ts";
import type { RecordedPlan } from "./recorded_request.ts";

/** The text of a streamed answer for its record. */
export interface RecordedAnswer {
  text?: string;
  /** Media that the text references by hash. */
  media?: readonly Media[] | undefined;
  /** The text is not the whole answer. */
  isCut: boolean;
  /** Only log-probabilities are missing: the answer can be continued. */
  lacksLogprobs?: true | undefined;
  /**
   * Set if the answer had to be repaired, or could not be written in the caller's dialect at all.
   */
  errorCode?: ErrorCode;
}

/** Folds the stream. */
type Folding = Pick<CallMeter, "answer">;
/** Writes the answer in the caller's dialect. */
type Encoding = Pick<RecordedPlan, "encodeFolded">;
type Attempt = <T>(act: () => T, otherwise: () => T) => T;

/**
 * Folds a stream into the text for its record. What the caller's dialect can't express is repaired:
 * broken tool-call arguments keep what can be read. Throws only what `attempt` does not catch.
 */
export function recordedAnswer(
  meter: Folding,
  plan: Encoding,
  attempt: Attempt,
): RecordedAnswer {
  if (!meter.answer || !plan.encodeFolded) return { isCut: false };
  const fold = () => meter.answer!();
  const failed = { errorCode: "upstream_invalid_response" } as const;
  return attempt<RecordedAnswer>(
    () => written(fold(), plan),
    () =>
      attempt<RecordedAnswer>(
        () => ({ ...written(mendedAnswer(fold()), plan), ...failed, isCut: true }),
        () => ({ ...failed, isCut: true }),
      ),
  );
}

/**
 * The same in steps, unless the ending has the text. Undefined if it fails: settling tries it again,
 * and repairs the answer.
 */
export async function answerInSteps(
  { responseText: text, isTruncated: isCut = false }: Ending,
  meter: Folding,
  plan: Encoding,
  step: Step,
): Promise<RecordedAnswer | undefined> {
  if (text !== undefined) return { text, isCut };
  return await step.inSteps(() => writing(meter, plan)).catch(() => undefined);
}

function* writing(meter: Folding, plan: Encoding): Steps<RecordedAnswer | undefined> {
  const answer = meter.answer?.();
  if (!answer?.choices.length || !plan.encodeFolded) return undefined;
  yield;
  const encoded = plan.encodeFolded(answer);
  yield;
  return { ...stateOf(answer), text: yield* writeJson(encoded) };
}

function written(answer: CanonicalAnswer, plan: Encoding): RecordedAnswer {
  if (answer.choices.length === 0) return { isCut: false };
  return { ...stateOf(answer), text: JSON.stringify(plan.encodeFolded!(answer)) };
}

function stateOf({ truncated, lacksLogprobs }: CanonicalAnswer): Omit<RecordedAnswer, "text"> {
  return { isCut: truncated, lacksLogprobs };
}

function mendedAnswer(answer: CanonicalAnswer): CanonicalAnswer {
  const choices = answer.choices.map((choice) => ({ ...choice, parts: choice.parts.map(mended) }));
  return { ...answer, choices };
}

function mended(part: AnswerPart): AnswerPart {
  if (part.kind !== "tool-call" || isRecord(innerJson(part.text))) return part;
  return { ...part, text: mendedArguments(part.text) };
}

/** Returns an object that every dialect can write: what can be read of a text, or its beginning. */
function mendedArguments(text: string): string {
  if (text === "") return "{}";
  // Each completion parses the text, and no dialect writes a longer one.
  const completions = text.length > maxInnerUnits ? [] : mendJson(text);
  for (const value of completions) {
    if (!isRecord(value)) continue;
    const json = JSON.stringify(value);
    if (isRecord(innerJson(json))) return json;
    break;
  }
  return JSON.stringify({ unreadable: beginning(text, maxUnreadable) });
}

/** UTF-16 units; each of them may be escaped with six. */
const maxUnreadable = maxInnerUnits / 8;
