import type { Usage } from "../../shared/usage.ts";
import type { Loss } from "./canonical_request.ts";
import type { JsonRecord } from "./json.ts";
import type { PixelSize, Resolution } from "./picture_shape.ts";

export type PictureFormat = "png" | "jpeg" | "webp";

/** A picture that the caller gives to be changed. */
export type Reference =
  | { readonly type: "base64"; readonly mimeType: string; readonly data: string }
  | { readonly type: "url"; readonly url: string };

/**
 * A request for pictures as every vendor's writer reads it. Undefined: the caller didn't say, and
 * the vendor's own default holds.
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
  /** The caller wants addresses in place of base64. */
  readonly asAddress: boolean;
  /** Unfinished pictures that a stream shows, 0 to 3. */
  readonly partialImages: number | undefined;
  readonly user: string | undefined;
  /** `provider_options` of this vendor. */
  readonly options: JsonRecord;
}

/** One call to the vendor. */
export interface ImageCall {
  /** Appended to the vendor's base address. */
  readonly path: string;
  readonly body: VendorBody;
  /** Pictures that this call asks for. */
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
  /** Made side by side; each is an attempt of its own. */
  readonly calls: readonly ImageCall[];
  readonly losses: readonly Loss[];
  /** No picture takes more output tokens, where the vendor counts in them. */
  readonly tokensPerImage: number;
  /** What the price of each picture depends on. */
  readonly priced: { readonly quality?: string; readonly size?: string };
}

/** A picture in a vendor's answer. */
export interface GeneratedImage {
  /** Base64, as standard alphabets have it. */
  readonly data?: string;
  readonly url?: string;
  readonly revisedPrompt?: string;
}

/** What one call brought. */
export interface ImageAnswer {
  readonly images: readonly GeneratedImage[];
  /** The vendor says why it gave fewer pictures than were asked for. */
  readonly refusal?: string;
  /** The answer is a failure: neither pictures nor a refusal. */
  readonly failure?: string;
  readonly usage?: Usage;
}

/** One vendor's way of drawing. Pure: no I/O, no clock. */
export interface ImageCodec {
  /** Reference pictures may be addresses; else they have to be fetched and put in. */
  readonly takesAddresses: boolean;
  /** Whether a name is one of the vendor's picture models. */
  hasModel(model: string): boolean;
  /** Throws `invalid_value` with the allowed values, and `model_not_found`. */
  encode(ask: ImageAsk): EncodedImages;
  /** Reads the JSON of an answer with a good status. Throws `upstream_invalid_response`. */
  decode(json: unknown): ImageAnswer;
  /** Reads streams, where the vendor has them. */
  readonly stream?: ImageStreamReader;
}

/** What one event of a stream of pictures says; its bytes go on as they are. */
export interface ImageStreamReader {
  read(event: unknown): {
    /** A finished picture. */
    image?: GeneratedImage;
    usage?: Usage;
    /** The vendor's error, in the middle of the stream. */
    error?: unknown;
  };
}
