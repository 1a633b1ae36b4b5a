import { Buffer } from "node:buffer";
import { audioSeconds, pcmSeconds } from "../base/audio_length.ts";
import { characters } from "../base/characters.ts";
import { pushAll } from "../base/lists.ts";
import { nanosToUsd } from "../base/money.ts";
import { maskSecrets } from "../base/secret.ts";
import { type SseEvent, SseSplitter } from "../base/sse.ts";
import { type PcmFormat, pcmFormatOf, wavHeader } from "../base/wav.ts";
import { soundTypes } from "../../contracts/media/speech.ts";
import { optionalField } from "../dialects/kernel/fields.ts";
import { base64Bytes } from "../dialects/kernel/media_source.ts";
import { likelySeconds, speechUsage } from "../dialects/media/operations/speech.ts";
import type { SpeechPiece } from "../dialects/kernel/speech_codec.ts";
import { readVendorError } from "../dialects/kernel/vendor_error.ts";
import { Fault, unreadableAnswer } from "../shared/fault.ts";
import type { Usage } from "../shared/usage.ts";
import { isWholeEvent } from "../relay/last_event.ts";
import { parseAnswer, parseAnswerInTurns } from "../relay/text_answer.ts";
import { costOfCall, maxEventBytes, mediaEventExcess } from "./operations.ts";
import type { OperationContext, PassedEvents } from "./operations.ts";
import type { SpeechCall } from "./speech.ts";
import { chargesReport } from "../vendors/reported_cost.ts";

/** The most bytes of a streamed answer that are recorded. */
const maxRecordedBytes = 32 * 1024 * 1024;

interface Sound {
  sound: Uint8Array[];
  failure?: Fault;
}

/**
 * Reads the audio of an answer (bytes, events or JSON with base64, or raw samples that need a
 * header) and collects it for the record.
 */
export class AudioReader {
  readonly #ctx: OperationContext;
  readonly #speechCall: SpeechCall;
  readonly #splitter: SseSplitter | undefined;
  #pieces: Uint8Array[] = [];
  #length = 0;
  #isStream = true;
  #samples: PcmFormat;
  #usage: Usage | undefined;
  #hasEnded = false;

  /** `contentType` is the vendor's. */
  constructor(ctx: OperationContext, speechCall: SpeechCall, contentType: string) {
    this.#ctx = ctx;
    this.#speechCall = speechCall;
    const sampleRate = speechCall.encoded.sampleRate ?? 24_000;
    this.#samples = { sampleRate, channels: 1 };
    if (/\bevent-stream\b/i.test(contentType)) this.#splitter = new SseSplitter({ maxEventBytes });
    else if (!/\bjson\b|^audio\/|\boctet-stream\b/i.test(contentType)) {
      throw unreadableAnswer("an answer that is not audio");
    }
  }

  /**
   * Reads a piece of the vendor's answer; returns the bytes for the caller of a stream. Audio
   * before a failure in the same piece was spoken all the same, and is returned.
   */
  readPiece(piece: Uint8Array): PassedEvents & { isLast: boolean } {
    const read = this.#passed(() =>
      this.#splitter
        ? this.#events(this.#splitter.push(piece))
        : { sound: this.#collected([piece]) }
    );
    return { ...read, isLast: this.#hasEnded };
  }

  /**
   * Ends the vendor's answer; returns the bytes of a last event without its blank line. Throws if
   * the answer is incomplete.
   */
  end(): Uint8Array | undefined {
    const last = this.#splitter?.end() ?? [];
    const whole = last.filter((event) => isWholeEvent(event, mediaEventExcess));
    const { bytes, failure } = this.#passed(() => this.#events(whole));
    if (failure) throw failure;
    if (this.#length === 0) throw noAudio();
    if (this.#splitter && !this.#hasEnded) throw new Fault("upstream_stream_truncated");
    return bytes;
  }

  /** Reads a whole answer of any type. Throws if it has no audio. */
  async readWhole(body: Uint8Array, isJson: boolean): Promise<void> {
    this.#isStream = false;
    if (isJson) {
      const { caller } = this.#ctx.vendorCall;
      const json = await parseAnswerInTurns(new TextDecoder().decode(body), caller);
      this.#collected(this.#read(this.#speechCall.codec.read(json)));
      if (this.#length === 0) throw noAudio();
      return;
    }
    const { failure } = this.readPiece(body);
    if (failure) throw failure;
    this.end();
  }

  /** Returns the file, and the JSON answer for caller and record. */
  finish(): { file: Uint8Array; json: string } {
    this.#reportUsage(true);
    const file = this.#file();
    return { file, json: this.#json(file) };
  }

  /** At the end of a stream: reports usage, and returns the record. */
  settle(isComplete: boolean): { recordText?: string; isTruncated?: boolean } {
    if (this.#length === 0) return {};
    this.#reportUsage(isComplete);
    const isTruncated = this.#isTooLarge;
    return { recordText: this.#json(isTruncated ? undefined : this.#file()), isTruncated };
  }

  /** Whether the audio isn't collected. A whole answer is: its caller is waiting for the file. */
  get #isTooLarge(): boolean {
    return this.#isStream && this.#length > maxRecordedBytes;
  }

  get #wantsHeader(): boolean {
    const { codec, encoded } = this.#speechCall;
    return codec.givesSamples && encoded.format === "wav";
  }

  /** Returns what was read for the caller of a stream: the first sound after its file's header. */
  #passed(read: () => Sound): PassedEvents {
    const isFirst = this.#length === 0;
    const { sound, failure } = read();
    const started = isFirst && this.#length > 0 && this.#wantsHeader
      ? [wavHeader(this.#samples, undefined)]
      : [];
    const all = [...started, ...sound];
    return {
      bytes: all.length > 0 ? Buffer.concat(all) : undefined,
      ...optionalField("failure", failure),
    };
  }

  /** Returns the sound of these events, up to one with a failure. */
  #events(events: readonly SseEvent[]): Sound {
    const sound: Uint8Array[] = [];
    try {
      for (const event of events) pushAll(sound, this.#collected(this.#event(event)));
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      return { sound, failure: thrown };
    }
    return { sound };
  }

  #event({ data }: SseEvent): Uint8Array[] {
    if (data === undefined || data.trim() === "[DONE]") return [];
    const excess = mediaEventExcess(data);
    if (excess) throw excess;
    return this.#read(this.#speechCall.codec.read(parseAnswer(data)));
  }

  #read(piece: SpeechPiece): Uint8Array[] {
    if (piece.error !== undefined) {
      throw this.#ctx.vendorCall.fault(readVendorError(piece.error, undefined));
    }
    if (piece.refusal !== undefined && this.#length === 0) {
      throw new Fault("content_policy_violation", {
        param: "input",
        message: `The vendor withheld the speech: ${maskSecrets(piece.refusal).slice(0, 1000)}`,
      });
    }
    if (piece.mimeType !== undefined) this.#samples = pcmFormatOf(piece.mimeType, this.#samples);
    this.#usage = piece.usage ?? this.#usage;
    this.#hasEnded ||= piece.isLast === true;
    if (piece.data === undefined) return [];
    const bytes = base64Bytes(piece.data);
    if (!bytes) throw unreadableAnswer("audio that isn't base64");
    return [bytes];
  }

  /** Collects the pieces for record and cost, and returns them. */
  #collected(pieces: Uint8Array[]): Uint8Array[] {
    for (const piece of pieces) {
      this.#length += piece.length;
      if (this.#isTooLarge) this.#pieces = [];
      else this.#pieces.push(piece);
    }
    return pieces;
  }

  #file(): Uint8Array {
    const header = this.#wantsHeader ? [wavHeader(this.#samples, this.#length)] : [];
    return Buffer.concat([...header, ...this.#pieces]);
  }

  #reportUsage(isComplete: boolean): void {
    const { price, target: { vendor } } = this.#ctx.vendorCall;
    const reported = isComplete ? this.#usage : undefined;
    const { usage, basis } = speechUsage(this.#speechCall.ask, reported, {
      ...{ price, ignoresCost: !chargesReport(vendor, price) },
      seconds: () => this.#seconds(),
      tokensPerMinute: this.#speechCall.codec.tokensPerMinute,
    });
    this.#ctx.meter.report(usage, basis, isComplete ? "stop" : undefined);
    // The answer shows what is charged, also for a total that the vendor left out.
    if (reported && usage.output > 0) this.#usage = usage;
  }

  #seconds(): number {
    const { ask, codec, encoded } = this.#speechCall;
    if (codec.givesSamples || encoded.format === "pcm") {
      return pcmSeconds(this.#length, this.#samples.sampleRate);
    }
    const measured = this.#isTooLarge ? undefined : audioSeconds(this.#file());
    return measured ?? likelySeconds(characters(ask.text), ask.speed);
  }

  #json(file: Uint8Array | undefined): string {
    const { encoded, ask } = this.#speechCall;
    const { target } = this.#ctx.vendorCall;
    const costNanos = costOfCall(this.#ctx);
    const rate = encoded.sampleRate === undefined ? undefined : this.#samples.sampleRate;
    return JSON.stringify({
      provider: target.vendor.label,
      model: target.model,
      audio: {
        data: file?.toBase64() ?? null,
        format: encoded.format,
        mime_type: soundTypes[encoded.format],
        ...optionalField("sample_rate", rate),
      },
      usage: {
        characters: characters(ask.text),
        ...optionalField("input_tokens", this.#usage?.input),
        ...optionalField("output_tokens", this.#usage?.output),
      },
      ...optionalField("cost_usd", costNanos === null ? undefined : nanosToUsd(costNanos)),
    });
  }
}

/**
 * Returns the fault of an answer without audio, which models sometimes give; a retry usually helps.
 */
function noAudio(): Fault {
  return new Fault("upstream_error", {
    message: "The model returned no audio. Try again.",
    note: "an answer without audio",
  });
}
