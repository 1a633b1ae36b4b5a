import { Buffer } from "node:buffer";
import { audioSeconds, pcmSeconds } from "../../../base/audio_length.ts";
import { characters } from "../../../base/characters.ts";
import type { SseEvent } from "../../../base/sse.ts";
import {
  estimateTokens,
  type InputTokenBounds,
  inputTokenBounds,
} from "../../../shared/token_estimate.ts";
import { unreadableAnswer } from "../../../shared/fault.ts";
import type { BillingBasis } from "../../../shared/interaction.ts";
import type { BillableUsage } from "../../../pricing/pricing.ts";
import { asString, type JsonRecord } from "../../kernel/json.ts";
import type { MediaField } from "../../kernel/media_field.ts";
import { vendorCost } from "../../kernel/vendor_cost.ts";
import type { AnswerEnding, Operation, OperationEvent, Outcome } from "../../kernel/operation.ts";
import type { OperationRequest } from "../../kernel/operation_request.ts";
import {
  isHalfReported,
  reportedTokens,
  reportsTrustedCost,
  withMissingTotal,
} from "../../kernel/reported_tokens.ts";
import { JsonAnswerReader, readEvent } from "../../kernel/answer_reader.ts";

const mediaFields: readonly MediaField[] = [
  { parent: "audio", key: "data", mimeType: "mime_type" },
  { key: "data", mimeType: "content_type" },
];

export const speech: Operation = {
  kind: "speech",
  name: "speech",
  mediaFields,
  promptPath: ["input"],
  countedText: ({ fields }) => countedText(textsOf(fields)),
  bound: ({ fields }, counted) => speechBound(textsOf(fields), fields.speed, counted),
  reader: (request) => new SpeechReader(request),
};

/** Output tokens of speech; OpenAI's 1,250 a minute are derived from its price per minute. */
export function speechTokens(seconds: number, perMinute = 1250): number {
  return Math.ceil(seconds * perMinute / 60);
}

/** Returns the audio as the record stores it, without its data if that was too large. */
function soundRecord(contentType: string, bytes: number, sound: Uint8Array | undefined): string {
  return JSON.stringify({ content_type: contentType, bytes, data: sound?.toBase64() ?? null });
}

/** What is to be spoken, and how. */
interface SpokenTexts {
  text: string;
  instructions: string | undefined;
}

function textsOf({ input, instructions }: JsonRecord): SpokenTexts {
  return { text: asString(input) ?? "", instructions: asString(instructions) };
}

function countedText({ text, instructions = "" }: SpokenTexts): string {
  return `${text} ${instructions}`;
}

/** Assumes slow speech in a dense script: six tokens a character, more if it is slowed down. */
export function speechBound(
  texts: SpokenTexts,
  speed: unknown,
  counted: InputTokenBounds = inputTokenBounds(countedText(texts)),
) {
  const count = characters(texts.text);
  const slowness = Math.max(1, 1 / speedOf(speed));
  return {
    ...counted,
    maxOutputTokens: Math.ceil(count * 6 * slowness) + 600,
    characters: count,
    seconds: count * 0.3 * slowness + 5,
  };
}

/** Assumes Latin text, read at about 14 characters a second. */
export function likelySeconds(characters: number, speed?: unknown): number {
  return characters / 14 / speedOf(speed);
}

function speedOf(speed: unknown): number {
  return typeof speed === "number" && speed > 0 ? speed : 1;
}

/**
 * Returns a call's usage and its basis. `reported`: the vendor's usage of a complete answer.
 * `seconds` measures the audio; for `tokensPerMinute` see `SpeechCodec`.
 */
export function speechUsage(
  { text, instructions = "" }: SpokenTexts,
  reported: BillableUsage | undefined,
  { price, ignoresCost, seconds, tokensPerMinute }: Omit<AnswerEnding, "isComplete"> & {
    seconds: () => number;
    tokensPerMinute?: number | undefined;
  },
): { usage: BillableUsage; basis: BillingBasis } {
  const isTimed = price?.rates.perMinute !== undefined;
  // The vendor may report tokens although the price is per minute.
  const counted = { characters: characters(text), ...(isTimed ? { seconds: seconds() } : {}) };
  const isByToken = !isTimed && price?.rates.perCharacter === undefined;
  const isHalf = isByToken && isHalfReported(reported, 1);
  const hasCost = reportsTrustedCost(reported, ignoresCost);
  if (reported && (hasCost || (reported.output > 0 && !isHalf))) {
    return { usage: { ...reported, ...counted }, basis: "reported" };
  }
  // A price per character is for the whole text, whatever part of it was received.
  if (!isByToken) return { usage: { input: 0, output: 0, ...counted }, basis: "estimated" };
  const input = estimateTokens(`${text}${instructions}`);
  const output = speechTokens(seconds(), tokensPerMinute);
  const estimate = { input, output, audioOutput: output };
  const usage = reported && isHalf ? withMissingTotal(reported, estimate) : estimate;
  return { usage: { ...usage, ...counted }, basis: "estimated" };
}

const maxStoredBytes = 32 * 1024 * 1024;

class SpeechReader extends JsonAnswerReader {
  #pieces: Uint8Array[] = [];
  #length = 0;
  #contentType: string;
  #usage: BillableUsage | undefined;

  constructor(request: OperationRequest) {
    super(request);
    const format = asString(request.fields.response_format) ?? "mp3";
    this.#contentType = contentTypes.get(format) ?? "application/octet-stream";
  }

  whole(): void {
    throw unreadableAnswer("an answer that is not audio");
  }

  override bytes(piece: Uint8Array, contentType: string): void {
    if (contentType !== "") this.#contentType = contentType;
    this.#length += piece.length;
    if (this.#length > maxStoredBytes) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  override event(event: SseEvent): OperationEvent {
    return readEvent(event, (record) => this.#record(record));
  }

  #record(event: JsonRecord): OperationEvent {
    const sound = asString(event.audio);
    if (sound) this.bytes(Buffer.from(sound, "base64"), "");
    if (event.type !== "speech.audio.done") return {};
    this.#usage = readSpeechUsage(event.usage);
    return { isLast: true };
  }

  outcome({ isComplete, ...ending }: AnswerEnding): Outcome | undefined {
    if (this.#length === 0) return undefined;
    const isTruncated = this.#length > maxStoredBytes;
    const sound = isTruncated ? undefined : Buffer.concat(this.#pieces);
    const recordText = soundRecord(this.#contentType, this.#length, sound);
    const reported = isComplete ? this.#usage : undefined;
    const measure = { ...ending, seconds: () => this.#seconds(sound) };
    const billed = speechUsage(textsOf(this.request.fields), reported, measure);
    return { recordText, isTruncated, ...billed };
  }

  #seconds(sound: Uint8Array | undefined): number {
    const { fields } = this.request;
    const isRaw = fields.response_format === "pcm";
    const measured = isRaw ? pcmSeconds(this.#length) : sound && audioSeconds(sound);
    return measured ?? likelySeconds(characters(textsOf(fields).text), fields.speed);
  }
}

const contentTypes: ReadonlyMap<string, string> = new Map([
  ["mp3", "audio/mpeg"],
  ["opus", "audio/ogg"],
  ["aac", "audio/aac"],
  ["flac", "audio/flac"],
  ["wav", "audio/wav"],
  ["pcm", "audio/pcm"],
]);

/** Reads the usage of a speech stream; undefined when it holds no numbers. */
export function readSpeechUsage(usage: unknown): BillableUsage | undefined {
  const reported = reportedTokens(usage, "input_tokens", "output_tokens");
  return reported &&
    { ...reported, audioOutput: reported.output, ...vendorCost(reported.raw) };
}
