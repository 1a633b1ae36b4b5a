import { Buffer } from "node:buffer";

/**
 * Returns the text of a header. The listener reads bytes as Latin-1, which is what `fetch` and
 * Python send; curl and Go send UTF-8. Bytes that are valid UTF-8 are taken for that, so that a name
 * is recorded as it is written elsewhere: a deletion has to find it.
 */
export function headerText(value: string): string {
  if (!/[\u0080-\u00ff]/.test(value) || /[\u0100-\uffff]/.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, "latin1"));
  } catch {
    return value;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
