import { skipString } from "./json_text.ts";

/**
 * Pretty-prints JSON text. Values stay as they were written, so that long numbers and key order
 * survive. Stops after about `maxChars`. Invalid or truncated text is printed as far as it goes.
 */
export function indentJson(text: string, maxChars: number): { text: string; isWhole: boolean } {
  const pieces: string[] = [];
  let length = 0;
  let depth = 0;
  let at = 0;
  const write = (piece: string) => {
    pieces.push(piece);
    length += piece.length;
  };
  const newLine = () => write("\n" + "  ".repeat(Math.min(depth, deepest)));
  while (at < text.length && length < maxChars) {
    const char = text[at]!;
    const end = endOf(text, at);
    if (char === "{" || char === "[") {
      const next = skipSpace(text, end);
      if (text[next] === (char === "{" ? "}" : "]")) {
        write(char + text[next]);
        at = next + 1;
        continue;
      }
      depth++;
      write(char);
      newLine();
    } else if (char === "}" || char === "]") {
      depth = Math.max(0, depth - 1);
      newLine();
      write(char);
    } else if (char === ",") {
      write(char);
      newLine();
    } else if (char === ":") {
      write(": ");
    } else if (!isSpace(char)) {
      const room = maxChars - length;
      write(text.slice(at, Math.min(end, at + room)));
      if (end - at > room) return { text: pieces.join(""), isWhole: false };
    }
    at = end;
  }
  return { text: pieces.join(""), isWhole: at >= text.length };
}

/** Deeper levels are not indented further. */
const deepest = 40;

/** End of the token that begins at `at`. */
function endOf(text: string, at: number): number {
  const char = text[at]!;
  if (char === '"') return skipString(text, at);
  if ("{}[]:,".includes(char) || isSpace(char)) return at + 1;
  let end = at + 1;
  while (end < text.length && !'{}[]:,"'.includes(text[end]!) && !isSpace(text[end]!)) end++;
  return end;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text[at]!)) at++;
  return at;
}

function isSpace(char: string): boolean {
  return char === " " || char === "\n" || char === "\r" || char === "\t";
}
