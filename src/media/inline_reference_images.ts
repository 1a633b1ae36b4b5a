import type { Reference } from "../dialects/kernel/image_codec.ts";
import { base64Source } from "../dialects/kernel/media_source.ts";
import { Fault, invalidValue } from "../shared/fault.ts";
import { type FetchCaller, maxPublicBytes, type PublicFetch } from "../vendors/public_fetch.ts";

/** Total for all URLs of a request: as much as a request body holds by default. */
const maxTotalBytes = 32 * 1024 * 1024;
/** Storage buckets send the latter types for files without a type: the first bytes decide. */
const accept = ["image/*", "application/octet-stream", "binary/octet-stream"];

/**
 * Fetches reference images given by URL and inlines them, for vendors that accept no URLs. Rejects
 * with a Fault whose `param` is the image's path.
 */
export async function inlineReferences(
  references: readonly Reference[],
  fetch: PublicFetch,
  caller: FetchCaller,
): Promise<Reference[]> {
  const inlined: Reference[] = [];
  let left = maxTotalBytes;
  // One after the other: together they may be large.
  for (const [index, reference] of references.entries()) {
    if (reference.type === "base64") {
      inlined.push(reference);
      continue;
    }
    const param = `images[${index}]`;
    const { bytes, mimeType } = await fetch.fetch(reference.url, {
      ...caller,
      maxBytes: Math.min(left, maxPublicBytes),
      accept,
    }).catch((thrown) => {
      if (!(thrown instanceof Fault)) throw thrown;
      throw new Fault(thrown.code, {
        param,
        message: `${param}: ${thrown.message}`,
        cause: thrown,
      });
    });
    left -= bytes.length;
    const source = base64Source(bytes.toBase64(), mimeType);
    if (!source.mimeType.startsWith("image/")) {
      throw invalidValue(param, "the URL doesn't return an image");
    }
    inlined.push(source);
  }
  return inlined;
}
