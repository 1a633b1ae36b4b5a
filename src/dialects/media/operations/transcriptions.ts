import { audioSeconds } from "../../../base/audio_length.ts";
import type { SseEvent } from "../../../base/sse.ts";
import { estimateTokens } from "../../../shared/token_estimate.ts";
import { unreadableAnswer } from "../../../shared/fault.ts";
import type { BillableUsage } from "../../../pricing/pricing.ts";
import {
  asRecord,
  asString,
  count,
  isRecord,
  type JsonRecord,
  miscounts,
} from "../../kernel/json.ts";
import { vendorCost } from "../../kernel/vendor_cost.ts";
import type { AnswerEnding, Operation, OperationEvent, Outcome } from "../../kernel/operation.ts";
import { type OperationRequest, parsedRecord } from "../../kernel/operation_request.ts";
import { optionalField } from "../../kernel/fields.ts";
import {
  reportedTokens,
  reportsTrustedCost,
  withMissingTotal,
} from "../../kernel/reported_tokens.ts";
import { JsonAnswerReader, readEvent } from "../../kernel/answer_reader.ts";

/** Speech to text: a form with a file. */
export const transcriptions: Operation = {
  kind: "transcriptions",
  name: "transcriptions",
  mediaFields: [{ key: "data", mimeType: "content_type" }],
  bound(request) {
    const seconds = lengthOf(request).longest;
    return {
      inputTokens: Math.ceil(seconds * maxTokensPerSecond) + 1024,
      maxOutputTokens: Math.min(16_384, Math.ceil(seconds * 10) + 512),
      seconds,
    };
  },
  reader: (request) => new TranscriptReader(request),
};

/** Speech to English text, with the same answers. */
export const translations: Operation = { ...transcriptions, kind: "translations" };

const maxTokensPerSecond = 25;
/** Vendors count ten tokens per second of audio. */
const tokensPerSecond = 10;

/**
 * Estimates the tokens of a transcript that broke off: those of its audio, and of a text with 14
 * characters a second.
 */
export function likelyTranscript(seconds: number) {
  // No file lasts longer, whatever a vendor says.
  const length = Math.min(seconds, maxSeconds);
  const input = Math.ceil(length * tokensPerSecond);
  return { input, audioInput: input, output: Math.ceil(length * 14 / 4) };
}

const maxSeconds = 1_000_000;

/**
 * Returns the seconds of the files: measured, or else estimated, assuming at least 1 kB and
 * probably 4 kB a second.
 */
function lengthOf({ files }: OperationRequest): { likely: number; longest: number } {
  let [likely, longest] = [0, 0];
  for (const { content } of files) {
    const measured = audioSeconds(content);
    likely += measured ?? content.length / 4000;
    longest += measured ?? content.length / 1000;
  }
  return { likely, longest };
}

class TranscriptReader extends JsonAnswerReader {
  #usage: BillableUsage | undefined;
  #seconds: number | undefined;
  #text = "";
  #done: JsonRecord | undefined;
  #sawAnswer = false;
  #isJson = true;
  #isStream = false;

  whole(text: string, contentType: string): void {
    this.#isJson = /\bjson\b/i.test(contentType);
    if (!this.#isJson) {
      this.#sawAnswer = true;
      this.#text = text;
      return;
    }
    this.json(parsedRecord(text));
  }

  override json(value: unknown): void {
    if (!isRecord(value)) throw unreadableAnswer("an answer that isn't JSON");
    this.#sawAnswer = true;
    this.#text = asString(value.text) ?? "";
    this.#read(value);
  }

  override event(event: SseEvent): OperationEvent {
    this.#isStream = true;
    return readEvent(event, (record) => this.#record(record));
  }

  #record(event: JsonRecord): OperationEvent {
    this.#sawAnswer = true;
    this.#text += asString(event.delta) ?? "";
    if (event.type !== "transcript.text.done") return {};
    this.#text ||= asString(event.text) ?? "";
    const { type: _type, ...done } = event;
    this.#done = done;
    this.#read(event);
    return { isLast: true };
  }

  override bytes(): void {
    throw unreadableAnswer("an answer that isn't text");
  }

  outcome({ price, ignoresCost }: AnswerEnding): Outcome | undefined {
    if (!this.#sawAnswer) return undefined;
    const recorded = this.#isStream
      ? { recordText: JSON.stringify(this.#done ?? { text: this.#text }) }
      : this.#isJson
      ? {}
      : { recordText: JSON.stringify(this.#text) };
    const stated = this.#usage?.seconds ?? this.#seconds;
    const seconds = stated ?? lengthOf(this.request).likely;
    if (price?.rates.perMinute !== undefined) {
      // The vendor may report tokens although the price is per minute.
      const usage = { input: 0, output: 0, ...this.#usage, seconds };
      const isReported = stated !== undefined || reportsTrustedCost(usage, ignoresCost);
      return { ...recorded, usage, basis: isReported ? "reported" : "estimated" };
    }
    // At a price per token, seconds alone would cost nothing.
    const reported = this.#usage;
    const hasTokens = reported && reported.input + reported.output > 0;
    const output = estimateTokens(this.#text);
    const isHalf = hasTokens &&
      (reported.unreported === "input" || (reported.unreported === "output" && output > 0));
    const hasCost = reportsTrustedCost(reported, ignoresCost);
    if (reported && (!price || hasCost || (hasTokens && !isHalf))) {
      return { ...recorded, usage: reported, basis: "reported" };
    }
    const estimate = { ...likelyTranscript(seconds), output };
    const usage = isHalf ? withMissingTotal(reported, estimate) : estimate;
    return { ...recorded, usage: { ...usage, seconds }, basis: "estimated" };
  }

  #read({ usage, duration }: JsonRecord): void {
    this.#usage = readTranscriptUsage(usage);
    // Some vendors write it as text.
    this.#seconds = secondsIn(typeof duration === "string" ? Number(duration) : duration);
  }
}

/** The value if it is a length: no sound lasts zero seconds. */
function secondsIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}

/** Reads the usage of a transcript, in tokens or seconds; undefined when it holds no numbers. */
export function readTranscriptUsage(raw: unknown): BillableUsage | undefined {
  if (!isRecord(raw) || miscounts(raw, "input_tokens", "output_tokens")) return undefined;
  const seconds = secondsIn(raw.seconds);
  const tokens = reportedTokens(raw, "input_tokens", "output_tokens");
  if (!tokens && seconds === undefined) return undefined;
  const { input, output, unreported } = tokens ?? { input: 0, output: 0 };
  const details = asRecord(raw.input_token_details);
  return {
    input,
    ...optionalField("audioInput", count(details.audio_tokens)),
    output,
    ...optionalField("unreported", unreported),
    ...optionalField("seconds", seconds),
    ...vendorCost(raw),
    raw,
  };
}
