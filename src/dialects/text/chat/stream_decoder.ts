import type { Steps } from "../../../base/steps.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { choiceIndex, refuseManyChoices } from "../../kernel/choices.ts";
import { JsonEventDecoder, noEvents, unreadableEvent } from "../../kernel/decode_run.ts";
import type { DecodedEvent, DialectQuirks, StreamDecoder } from "../../kernel/dialect.ts";
import { asRecord, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { carriesError, readVendorError, type VendorError } from "../../kernel/vendor_error.ts";
import { LogprobReader } from "../../kernel/token_logprobs.ts";
import { ChoiceReader } from "./answer/choice_reader.ts";
import { readChoicesAhead } from "./answer/logprobs.ts";
import { isFlat, ownAnswer } from "./answer/own_choice.ts";
import { isErrorReason, readFailure } from "./finish_reason.ts";
import { failedEvents, startEvent, usageIn } from "./answer_decoder.ts";

export function createStreamDecoder(quirks: DialectQuirks, choices = 1): StreamDecoder {
  return new ChatStreamDecoder(quirks, choices);
}

/**
 * Decodes a chat stream and tolerates the known deviations of compatible servers. Comments and the
 * end marker produce no events.
 */
class ChatStreamDecoder extends JsonEventDecoder {
  readonly #quirks: DialectQuirks;
  readonly #asked: number;
  readonly #choices = new Map<number, ChoiceReader>();
  readonly #nextBlock = { value: 0 };
  readonly #logprobs = new LogprobReader();
  readonly #own = ownAnswer();
  /** Whether a choice had an index other than 0: the server does number its choices. */
  #isNumbered = false;
  #started = false;
  #failed = false;
  #done = false;
  /** Usage has come with the last finish reason, or later. */
  #hasUsage = false;

  /** `asked`: how many choices the request asked for. */
  constructor(quirks: DialectQuirks, asked = 1) {
    super(isReusable);
    this.#quirks = quirks;
    this.#asked = asked;
  }

  protected override mark(): DecodedEvent {
    if (this.#failed) return noEvents;
    this.#done = true;
    // Passed on, the marker would tell the caller that a cut answer is complete.
    return this.#isComplete() ? { ...noEvents, terminal: true } : this.#fail(truncated);
  }

  protected unreadable(): DecodedEvent {
    return this.#done ? noEvents : this.#fail(unreadableEvent());
  }

  protected take(parsed: unknown, events: CanonicalEvent[]): DecodedEvent {
    let json = parsed;
    // Some vendors wrap their errors in an array.
    if (Array.isArray(json) && isRecord(json[0]) && carriesError(json[0])) json = json[0];
    if (!isRecord(json)) return noEvents;
    // After the end marker only usage may follow.
    if (this.#done) return isUsageAlone(json) ? this.#chunk(json, events) : noEvents;
    if (carriesError(json)) return this.#fail(json);
    return this.#chunk(json, events);
  }

  get mayBeWhole(): boolean {
    return this.#hasUsage && this.mayEnd;
  }

  get mayEnd(): boolean {
    if (!this.#isComplete()) return false;
    if (this.#done) return true;
    for (const { mayRepeatReason } of this.#choices.values()) if (mayRepeatReason) return false;
    return true;
  }

  readAhead(json: unknown): Steps<void> {
    return readChoicesAhead(json, this.#logprobs);
  }

  end(): { events: CanonicalEvent[]; complete: boolean } {
    const events: CanonicalEvent[] = [];
    for (const choice of this.#choices.values()) choice.close(events);
    this.#own.report("chat", events);
    return { events, complete: this.#isComplete() };
  }

  /**
   * Whether every choice ended and none is missing. A vendor may return fewer choices than
   * requested; only its end marker distinguishes that from a cut stream.
   */
  #isComplete(): boolean {
    const least = this.#done ? 1 : Math.max(1, this.#asked);
    if (this.#failed || this.#choices.size < least) return false;
    for (const { finished } of this.#choices.values()) if (!finished) return false;
    return true;
  }

  #chunk(json: JsonRecord, events: CanonicalEvent[]): DecodedEvent {
    if (!this.#started) {
      this.#started = true;
      events.push(startEvent(json));
    }
    this.#own.add(json);
    const choices = Array.isArray(json.choices) ? json.choices : [];
    refuseManyChoices(choices);
    // Some servers number all choices 0. If only one was requested, several entries are pieces of
    // it.
    const areUnnumbered = !this.#isNumbered && choices.length > 1 &&
      choices.length <= this.#asked &&
      choices.every((choice) => asRecord(choice).index === 0);
    for (let position = 0; position < choices.length; position++) {
      const choice: unknown = choices[position];
      if (!isRecord(choice)) continue;
      if (isErrorReason(choice.finish_reason)) {
        return this.#failWith(readFailure(choice, json), json);
      }
      const index = areUnnumbered ? position : choiceIndex(choice.index, position);
      if (!areUnnumbered && index > 0) this.#isNumbered = true;
      this.#choice(index).read(choice, events);
    }
    // Of several choices, each would report only its own.
    const usage = usageIn(json, this.#quirks, this.#asked === 1 ? choices[0] : undefined);
    if (usage) {
      events.push(usage);
      this.#hasUsage = this.#isComplete();
    }
    return { events, usageOnly: usage !== undefined && choices.length === 0, terminal: false };
  }

  #choice(index: number): ChoiceReader {
    let choice = this.#choices.get(index);
    if (!choice) {
      choice = new ChoiceReader(index, this.#nextBlock, this.#logprobs);
      this.#choices.set(index, choice);
    }
    return choice;
  }

  #fail(json: JsonRecord): DecodedEvent {
    return this.#failWith(readVendorError(json, undefined), json);
  }

  #failWith(error: VendorError, json: JsonRecord): DecodedEvent {
    this.#failed = true;
    const events = failedEvents(error, json, this.#quirks);
    return { events, usageOnly: false, terminal: false };
  }
}

/**
 * Whether a chunk's value may be overwritten: reported usage, and nested fields without a canonical
 * form, are retained as they were sent.
 */
function isReusable(json: unknown): boolean {
  return isRecord(json) && (json.usage ?? null) === null && json.x_groq === undefined &&
    isFlat(json);
}

function isUsageAlone({ choices }: JsonRecord): boolean {
  return choices === undefined || (Array.isArray(choices) && choices.length === 0);
}

const truncated = {
  error: {
    code: "upstream_stream_truncated",
    message: "The stream ended before the answer was complete.",
  },
};
