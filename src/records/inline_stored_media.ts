import { Buffer } from "node:buffer";
import { parseExactly } from "../base/exact_json.ts";
import type { MediaField } from "../dialects/kernel/media_field.ts";

/**
 * Reverses `externalizeMedia`, so that the request can be sent again. `read` returns a medium by
 * its hash. Returns undefined if a medium is gone or the request would become too large.
 */
export async function inlineStoredMedia(
  text: string,
  fields: readonly MediaField[],
  read: (sha256: string) => Promise<Uint8Array | undefined>,
): Promise<string | undefined> {
  const pieces: string[] = [];
  let from = 0;
  let bytes = 0;
  for (const found of text.matchAll(named)) {
    const [whole, key = "", between = "", sha256 = "", mimeType = '""'] = found;
    const field = fields.find((one) => one.key === key);
    if (!field) continue;
    const content = await read(sha256);
    bytes += content?.length ?? 0;
    if (!content || bytes > maxBytes) return undefined;
    const data = Buffer.from(content).toString("base64");
    const value = field.address ? `data:${parseExactly(mimeType)};base64,${data}` : data;
    pieces.push(text.slice(from, found.index), `"${key}"${between}${JSON.stringify(value)}`);
    from = found.index + whole.length;
  }
  return pieces.length === 0 ? text : pieces.join("") + text.slice(from);
}

/** Larger than any request; a payload can't grow without bound by naming one hash many times. */
const maxBytes = 64 * 1024 * 1024;

/** A member with a value that `externalizeMedia` wrote; quotes inside strings are escaped. */
const named =
  /"(\w+)"(\s*:\s*)\{"sha256":"([0-9a-f]{64})","bytes":\d+,"mime_type":("(?:[^"\\]|\\.)*"),"url":"\/api\/v1\/media\/\3"\}/g;
