import type { GeneratedImage } from "../dialects/kernel/image_codec.ts";
import { Fault } from "../shared/fault.ts";
import { maxPublicBytes, type PublicFetch } from "../vendors/public_fetch.ts";

const accept = ["image/*", "application/octet-stream", "binary/octet-stream"];

/**
 * Pictures that a vendor gave by address, fetched, so that they are stored like the others. One
 * that can't be fetched stays an address where that is what the caller wants; else it is a failure
 * of the vendor's.
 */
export async function fetchGeneratedImages(
  images: readonly GeneratedImage[],
  { fetch, signal, asAddress }: { fetch: PublicFetch; signal: AbortSignal; asAddress: boolean },
): Promise<GeneratedImage[]> {
  const fetched: GeneratedImage[] = [];
  // One after the other: together they may be large.
  for (const image of images) {
    if (image.url === undefined) {
      fetched.push(image);
      continue;
    }
    try {
      const { bytes } = await fetch.fetch(image.url, { signal, maxBytes: maxPublicBytes, accept });
      const { url: _url, ...rest } = image;
      fetched.push({ ...rest, data: bytes.toBase64() });
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      if (!asAddress) {
        throw new Fault("upstream_invalid_response", {
          message: "The vendor gave a picture by an address that can't be read.",
          note: thrown.note ?? thrown.code,
          cause: thrown,
        });
      }
      fetched.push(image);
    }
  }
  return fetched;
}
