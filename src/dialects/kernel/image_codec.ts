import type { Steps } from "../../base/steps.ts";
import type { Media } from "../../shared/media.ts";
import type { Usage } from "../../shared/usage.ts";
import type { Loss } from "./canonical_request.ts";
import type { HostedWork } from "./hosted.ts";
import type { JsonRecord } from "./json.ts";
import type { PixelSize, Resolution } from "./picture_shape.ts";

export type PictureFormat = "png" | "jpeg" | "webp";

export type Reference =
  | { readonly type: "base64"; readonly mimeType: string; readonly data: string }
  | { readonly type: "url"; readonly url: string };

/**
 * A request for images, from which each vendor's request is encoded. Undefined: the caller didn't
 * set it, and the vendor's default applies.
 */
export interface ImageAsk {
  /** The vendor's own name. */
  readonly model: string;
  readonly prompt: string;
  /** 1 to 10. */
  readonly count: number;
  readonly size: PixelSize | undefined;
  /** As written, such as `16:9`. */
  readonly ratio: string | undefined;
  readonly resolution: Resolution | undefined;
  readonly quality: "low" | "medium" | "high" | undefined;
  readonly format: PictureFormat | undefined;
  /** 0 to 100. */
  readonly compression: number | undefined;
  readonly background: "transparent" | "opaque" | undefined;
  readonly style: "vivid" | "natural" | undefined;
  readonly moderation: "low" | undefined;
  readonly seed: number | undefined;
  readonly negativePrompt: string | undefined;
  readonly personGeneration: string | undefined;
  readonly references: readonly Reference[];
  readonly stream: boolean;
  /** Whether the caller wants addresses instead of base64. */
  readonly asAddress: boolean;
  /** Partial images that a stream shows, 0 to 3. */
  readonly partialImages: number | undefined;
  readonly user: string | undefined;
  /** `provider_options` of this vendor. */
  readonly options: JsonRecord;
}

export interface ImageCall {
  /** Appended to the vendor's base URL. */
  readonly path: string;
  readonly body: VendorBody;
  /** Images requested in this call. */
  readonly count: number;
}

/** JSON, or the parts of a form. */
export type VendorBody =
  | { readonly type: "json"; readonly value: JsonRecord }
  | { readonly type: "form"; readonly parts: readonly FormPart[] };

export type FormPart =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly mimeType: string; readonly fileName: string; data: string };

export interface EncodedImages {
  /** Made in parallel; each is a vendor request of its own. */
  readonly calls: readonly ImageCall[];
  readonly losses: readonly Loss[];
  /** Maximum number of output tokens of one image, for vendors that count tokens. */
  readonly tokensPerImage: number;
  /** What the price of an image depends on. */
  readonly priced: { readonly quality?: string; readonly size?: string };
}

/** An image in a vendor's answer. */
export interface GeneratedImage {
  /** Base64 with the standard alphabet. */
  readonly data?: string;
  /** The image where it came as a file. */
  readonly bytes?: Uint8Array;
  readonly url?: string;
  readonly revisedPrompt?: string;
  /** The image, if it was taken out of the answer: `data` only stands for it. */
  readonly file?: Media | undefined;
}

export interface ImageAnswer {
  readonly images: readonly GeneratedImage[];
  /** The vendor's reason for returning fewer images than requested. */
  readonly refusal?: string;
  /** The answer failed: it has neither images nor a refusal. */
  readonly failure?: string;
  readonly usage?: Usage;
}

/** One vendor's format for image generation. Pure: no I/O, no clock. */
export interface ImageCodec {
  /** Whether reference images may be addresses; otherwise they are fetched and inlined. */
  readonly takesAddresses: boolean;
  hasModel(model: string): boolean;
  /** The vendor-side work that this vendor's options ask for besides running the model. */
  hostedWork?(options: JsonRecord): Steps<HostedWork>;
  /** Throws `invalid_value` with the allowed values, and `model_not_found`. */
  encode(ask: ImageAsk): EncodedImages;
  /** Reads the JSON of a successful answer. Throws `upstream_invalid_response`. */
  decode(json: unknown): ImageAnswer;
  readonly stream?: ImageStreamReader;
}

/** Reads one event of an image stream, whose bytes are passed on unchanged. */
export interface ImageStreamReader {
  read(event: unknown): {
    /** A finished picture. */
    image?: GeneratedImage;
    /** An unfinished picture, which is billed too. */
    isPartial?: true;
    usage?: Usage;
    /** The vendor's error, in the middle of the stream. */
    error?: unknown;
  };
}
