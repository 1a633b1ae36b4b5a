import type { Usage } from "../../shared/usage.ts";
import type { Loss } from "./canonical_request.ts";
import type { JsonRecord } from "./json.ts";

export type SoundFormat = "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm";

/** A request for speech as every vendor's writer reads it. Undefined: the caller didn't say. */
export interface SpeechAsk {
  /** The vendor's own name. */
  readonly model: string;
  readonly text: string;
  /** Name of a voice, or the id of one of the caller's own. */
  readonly voice: string | { readonly id: string } | undefined;
  readonly instructions: string | undefined;
  readonly format: SoundFormat | undefined;
  /** Undefined for 1, which changes nothing. */
  readonly speed: number | undefined;
  readonly language: string | undefined;
  readonly sampleRate: number | undefined;
  readonly speakers: readonly { speaker: string; voice: string }[];
  readonly user: string | undefined;
  readonly stream: boolean;
  /** `provider_options` of this vendor. */
  readonly options: JsonRecord;
}

export interface EncodedSpeech {
  /** Appended to the vendor's base address. */
  readonly path: string;
  readonly body: JsonRecord;
  readonly losses: readonly Loss[];
  /** What the caller gets, whatever the vendor gives. */
  readonly format: SoundFormat;
  /** Samples per second of what the vendor gives, where that is known. */
  readonly sampleRate: number | undefined;
}

/** A piece of an answer that isn't the sound itself. */
export interface SpeechPiece {
  /** Base64. */
  readonly data?: string;
  /** What the vendor says the data is. */
  readonly mimeType?: string;
  readonly usage?: Usage;
  /** The vendor's rules withheld it. */
  readonly refusal?: string;
  /** The vendor's error, in the middle of a stream. */
  readonly error?: unknown;
  /** Nothing that matters comes after it. */
  readonly isLast?: boolean;
}

/** One vendor's way of speaking. Pure: no I/O, no clock. */
export interface SpeechCodec {
  /** Whether a name is one of the vendor's models that speak. */
  hasModel(model: string): boolean;
  /** Throws `invalid_value` with the allowed values, and `model_not_found`. */
  encode(ask: SpeechAsk): EncodedSpeech;
  /**
   * What an answer in JSON says: the whole of it, or one event. An answer of any other type is the
   * sound itself.
   */
  read(json: unknown): SpeechPiece;
  /** What comes is raw samples, whatever was asked for: 16 bits, little-endian. */
  readonly givesSamples: boolean;
}
