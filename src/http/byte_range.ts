/** What of a file is to be sent: `end` is not included. */
export type ByteRange =
  | { kind: "whole" }
  | { kind: "part"; start: number; end: number }
  | { kind: "beyond" };

/**
 * Reads `Range` and `If-Range` (RFC 9110 §14). What is no single range of bytes, and a range of
 * another version of the file, is ignored, as the RFC has it: the whole is sent then.
 */
export function readByteRange(
  range: string | undefined,
  ifRange: string | undefined,
  file: { size: number; etag: string },
): ByteRange {
  const match = asked.exec(range ?? "");
  if (!match || (ifRange !== undefined && ifRange.trim() !== file.etag)) return { kind: "whole" };
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return { kind: "whole" };
  const { size } = file;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? { kind: "beyond" } : { kind: "part", start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === "" ? size : Math.min(Number(last) + 1, size);
  if (last !== "" && Number(last) < start) return { kind: "whole" };
  return start >= size ? { kind: "beyond" } : { kind: "part", start, end };
}

/** Some clients put blanks in between; all counts are bounded, so that the pattern is linear. */
const asked = /^bytes\s{0,8}=\s{0,8}(\d{0,40})\s{0,8}-\s{0,8}(\d{0,40})\s{0,8}$/i;
