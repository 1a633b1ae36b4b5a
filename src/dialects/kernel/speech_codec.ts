import type { Steps } from "../../base/steps.ts";
import type { Usage } from "../../shared/usage.ts";
import type { Loss } from "./canonical_request.ts";
import type { HostedWork } from "./hosted.ts";
import type { JsonRecord } from "./json.ts";

export type SoundFormat = "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm";

/**
 * A request for speech, from which each vendor's request is encoded. Undefined: the caller didn't
 * set it.
 */
export interface SpeechAsk {
  /** The vendor's own name. */
  readonly model: string;
  readonly text: string;
  /** Name of a voice, or the id of a custom one. */
  readonly voice: string | { readonly id: string } | undefined;
  readonly instructions: string | undefined;
  readonly format: SoundFormat | undefined;
  /** Undefined for 1, the default. */
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
  /** Appended to the vendor's base URL. */
  readonly path: string;
  readonly body: JsonRecord;
  readonly losses: readonly Loss[];
  /** The format that the caller gets, whichever the vendor returns. */
  readonly format: SoundFormat;
  /** Samples per second of the vendor's audio, if known. */
  readonly sampleRate: number | undefined;
}

/** A piece of an answer that isn't raw audio. */
export interface SpeechPiece {
  /** Base64. */
  readonly data?: string;
  readonly mimeType?: string;
  readonly usage?: Usage;
  /** The vendor's reason for withholding it. */
  readonly refusal?: string;
  /** The vendor's error, in the middle of a stream. */
  readonly error?: unknown;
  /** Nothing relevant follows. */
  readonly isLast?: boolean;
}

/** One vendor's format for speech generation. Pure: no I/O, no clock. */
export interface SpeechCodec {
  hasModel(model: string): boolean;
  /** The vendor-side work that this vendor's options ask for besides running the model. */
  hostedWork?(options: JsonRecord): Steps<HostedWork>;
  /** Throws `invalid_value` with the allowed values, and `model_not_found`. */
  encode(ask: SpeechAsk): EncodedSpeech;
  /** Reads a JSON answer: the whole, or one event. An answer of any other type is raw audio. */
  read(json: unknown): SpeechPiece;
  /** Whether the vendor always returns raw samples: 16 bits, little-endian. */
  readonly givesSamples: boolean;
  /** Output tokens that the vendor counts for a minute of speech; absent: as many as OpenAI. */
  readonly tokensPerMinute?: number;
}
