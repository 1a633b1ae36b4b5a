import type { GeneratedImage } from "../dialects/kernel/image_codec.ts";
import { Fault, unreadableAnswer } from "../shared/fault.ts";
import { type FetchCaller, maxPublicBytes, type PublicFetch } from "../vendors/public_fetch.ts";

const accept = ["image/*", "application/octet-stream", "binary/octet-stream"];

/** A vendor may return more images than it was asked for. No call asks for as many as this. */
const maxFetched = 32;
/** Cap on the images of one answer together: in base64, as much as a vendor's answer may have. */
const maxFetchedBytes = 72 * 1024 * 1024;

/**
 * Fetches images that a vendor returned as URLs, so that they are stored like the others. If one
 * can't be fetched or exceeds the caps, it stays a URL where the caller wants URLs (`asAddress`);
 * otherwise throws `upstream_invalid_response`.
 */
export async function fetchGeneratedImages(
  images: readonly GeneratedImage[],
  { fetch, caller, asAddress }: { fetch: PublicFetch; caller: FetchCaller; asAddress: boolean },
): Promise<GeneratedImage[]> {
  const fetched: GeneratedImage[] = [];
  let tries = 0;
  let bytesLeft = maxFetchedBytes;
  // One after the other: together they may be large.
  for (const image of images) {
    if (image.url === undefined) {
      fetched.push(image);
      continue;
    }
    try {
      if (++tries > maxFetched || bytesLeft === 0) {
        throw unreadableAnswer("more image URLs than are fetched");
      }
      const { bytes } = await fetch.fetch(image.url, {
        ...caller,
        maxBytes: Math.min(maxPublicBytes, bytesLeft),
        accept,
      });
      if (bytes.length === 0) throw unreadableAnswer("an image URL with an empty file");
      bytesLeft -= bytes.length;
      const { url: _url, ...rest } = image;
      fetched.push({ ...rest, bytes });
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      if (!asAddress) {
        throw new Fault("upstream_invalid_response", {
          message: "The vendor returned an image URL that can't be fetched.",
          note: thrown.note ?? thrown.code,
          cause: thrown,
        });
      }
      fetched.push(image);
    }
  }
  return fetched;
}
