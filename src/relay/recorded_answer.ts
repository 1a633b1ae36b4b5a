import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import { beginning } from "../base/characters.ts";
import type { Step } from "../base/heavy_work.ts";
import { triedCompletions } from "../base/mend_json.ts";
import { finish, type Steps } from "../base/steps.ts";
import { writeJson } from "../base/write_json.ts";
import type { AnswerPart, CanonicalAnswer, CanonicalChoice } from "../dialects/kernel/canonical.ts";
import { innerJson, isRecord, maxInnerUnits } from "../dialects/kernel/json.ts";
import { readArguments } from "../dialects/kernel/read_arguments.ts";
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

const unwritable = { errorCode: "upstream_invalid_response" } as const;

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
  return attempt<RecordedAnswer>(
    () => written(fold(), plan),
    () =>
      attempt<RecordedAnswer>(
        () => ({ ...written(finish(mendedAnswer(fold())), plan), ...unwritable, isCut: true }),
        () => ({ ...unwritable, isCut: true }),
      ),
  );
}

/**
 * The same in steps, unless the ending has the text. `failed` is called if the answer has to be
 * repaired. Undefined if even that fails: settling tries it again.
 */
export async function answerInSteps(
  { responseText: text, isTruncated: isCut = false }: Ending,
  { meter, plan, failed }: {
    meter: Folding;
    plan: Encoding;
    failed: (thrown: unknown) => void;
  },
  step: Step,
): Promise<RecordedAnswer | undefined> {
  if (text !== undefined) return { text, isCut };
  const write = (repairs: boolean) => step.inSteps(() => writing(meter, plan, repairs));
  try {
    return await write(false);
  } catch (thrown) {
    return await write(true).then((repaired) => {
      failed(thrown);
      return repaired && { ...repaired, ...unwritable, isCut: true };
    }, () => undefined);
  }
}

function* writing(
  meter: Folding,
  plan: Encoding,
  repairs: boolean,
): Steps<RecordedAnswer | undefined> {
  const folded = meter.answer?.();
  if (!folded?.choices.length || !plan.encodeFolded) return undefined;
  yield;
  const answer = repairs ? yield* mendedAnswer(folded) : folded;
  const encoded = yield* plan.encodeFolded(answer);
  yield;
  return { ...stateOf(answer), text: yield* writeJson(encoded) };
}

function written(answer: CanonicalAnswer, plan: Encoding): RecordedAnswer {
  if (answer.choices.length === 0) return { isCut: false };
  return { ...stateOf(answer), text: JSON.stringify(finish(plan.encodeFolded!(answer))) };
}

function stateOf({ truncated, lacksLogprobs }: CanonicalAnswer): Omit<RecordedAnswer, "text"> {
  return { isCut: truncated, lacksLogprobs };
}

function* mendedAnswer(answer: CanonicalAnswer): Steps<CanonicalAnswer> {
  const choices: CanonicalChoice[] = [];
  for (const choice of answer.choices) {
    const parts: AnswerPart[] = [];
    for (const part of choice.parts) parts.push(yield* mended(part));
    choices.push({ ...choice, parts });
  }
  return { ...answer, choices };
}

function* mended(part: AnswerPart): Steps<AnswerPart> {
  if (part.kind !== "tool-call") return part;
  yield;
  if (readArguments(part)) return part;
  yield;
  return { ...part, text: yield* mendedArguments(part.text) };
}

/** Returns an object that every dialect can write: what can be read of a text, or its beginning. */
function* mendedArguments(text: string): Steps<string> {
  if (text === "") return "{}";
  // Each completion parses the text, and no dialect writes a longer one.
  const completions = text.length > maxInnerUnits ? [] : triedCompletions(text);
  for (const completion of completions) {
    yield;
    if (!completion || !isRecord(completion.value)) continue;
    const json = yield* writeJson(completion.value);
    if (isRecord(innerJson(json))) return json;
    break;
  }
  return JSON.stringify({ unreadable: beginning(text, maxUnreadable) });
}

/** UTF-16 units; each of them may be escaped with six. */
const maxUnreadable = maxInnerUnits / 8;
