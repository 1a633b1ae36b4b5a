/**
 * Tokens of pictures, sound and documents that no vendor has reported, from their base64 alone. Rough
 * on purpose: what matters is that none is free and none is counted as text, which would be a hundred
 * times as much.
 */

/** A picture of usual size in a prompt. */
export const typicalImageTokens = 1024;
/** A generated picture; the number is Gemini's (`pricing.md`, images priced by the token). */
const generatedImageTokens = 1290;

/** Bytes to a token. Sound: 25 tokens to a second. Documents: 800 tokens to a page of 50 KB. */
const bytesPerToken = {
  /** 24,000 samples a second, of two bytes. */
  samples: 1920,
  /** 128 kbit a second, as MP3 and small video have. */
  packed: 640,
  document: 64,
} as const;

/**
 * Tokens of a text in a prompt that is nothing but media: a `data:` address, or base64 that begins as
 * formats do. 0 for other addresses, and for base64 that is no such format, as sealed reasoning is.
 */
export function promptMediaTokens(value: string): number {
  const [address = "", type, format] = dataAddress.exec(value) ?? [];
  const kind = type === undefined ? kindByStart(value.slice(0, 16)) : kindByType(type, format!);
  if (kind === undefined) return 0;
  return kind === "image" ? typicalImageTokens : tokensOf(kind, value.length - address.length);
}

/** With names no longer than media types have: of a longer one each end would be tried. */
const dataAddress = /^data:(\w{1,127})\/([\w.+-]{1,127})[^,]{0,200},/;

/** Tokens of media in an answer, of so many units of base64. */
export function answerMediaTokens(
  { media, mimeType, chars }: { media: "image" | "audio"; mimeType: string; chars: number },
): number {
  if (media === "image") return generatedImageTokens;
  const [type = "", format = ""] = mimeType.split("/");
  return tokensOf(kindByType(type, format) === "samples" ? "samples" : "packed", chars);
}

/** Whether a text is base64, by its beginning; shorter ones are words. */
export function isLongBase64(text: string): boolean {
  if (text.length <= leastBase64) return false;
  const start = text.slice(0, leastBase64);
  return !/\s/.test(start) && /^[A-Za-z0-9+/_=-]+$/.test(start);
}

const leastBase64 = 1000;

/**
 * How many units of a JSON text are words, and how many long pieces of base64 it has; a text that was
 * cut may end in one.
 */
export function wordsAndMedia(text: string): { chars: number; pieces: number } {
  let chars = text.length;
  let pieces = 0;
  for (let from = 0; from < text.length;) {
    const found = text.indexOf('"', from);
    const to = found < 0 ? text.length : found;
    if (to - from > leastBase64 && isLongBase64(text.slice(from, from + leastBase64 + 1))) {
      chars -= to - from;
      pieces++;
    }
    from = to + 1;
  }
  return { chars, pieces };
}

type Kind = "image" | keyof typeof bytesPerToken;

function kindByType(type: string, format: string): Kind | undefined {
  switch (type) {
    case "image":
      return "image";
    case "audio":
      return /^(x-)?(wav|l16|pcm)/i.test(format) ? "samples" : "packed";
    case "video":
      return "packed";
    case "application":
      return format === "pdf" ? "document" : undefined;
    default:
      return undefined;
  }
}

/** PNG, JPEG, GIF and WebP; PDF; WAVE; MP3, Ogg, FLAC and MP4. */
function kindByStart(start: string): Kind | undefined {
  if (/^(iVBORw0KGgo|\/9j\/|R0lGOD|UklGR.{7}RUJQ)/.test(start)) return "image";
  if (start.startsWith("JVBERi0")) return "document";
  if (/^UklGR.{7}QVZF/.test(start)) return "samples";
  return /^(SUQz|\/\/[tuv]|T2dnUw|ZkxhQ|AAAA..Z0eX)/.test(start) ? "packed" : undefined;
}

function tokensOf(kind: keyof typeof bytesPerToken, chars: number): number {
  return Math.ceil(chars * 3 / 4 / bytesPerToken[kind]);
}
