/**
 * Estimates the tokens of pictures, sound and documents that no vendor has reported, from their
 * base64 alone. Rough on purpose: what matters is that none is free and none is counted as text,
 * which would be a hundred times as much.
 */
import type { Steps } from "../base/steps.ts";

/** Tokens of a picture of usual size in a prompt. */
export const typicalImageTokens = 1024;
/** A generated picture; the number is Gemini's (`pricing.md`, images priced by the token). */
const generatedImageTokens = 1290;

/** Bytes per token. Sound: 25 tokens per second. Documents: 800 tokens per page of 50 KB. */
const bytesPerToken = {
  /** 24,000 samples a second, of two bytes. */
  samples: 1920,
  /** 128 kbit a second, as MP3 and small video have. */
  packed: 640,
  document: 64,
  text: 4,
} as const;

/**
 * Returns the tokens of a text in a prompt that consists of media: a `data:` URL, or base64 that
 * stands beside its `mimeType` or begins like a known format. 0 for other URLs, and for other
 * base64, such as sealed reasoning.
 */
export function promptMediaTokens(value: string, mimeType = ""): number {
  const [address = "", type, format] = dataAddress.exec(value) ?? [];
  const kind = type === undefined
    ? kindBeside(value, mimeType) ?? kindByStart(value.slice(0, 16))
    : kindByType(type, format!);
  if (kind === undefined) return 0;
  return kind === "image" ? typicalImageTokens : tokensOf(kind, value.length - address.length);
}

/** Whether media in a prompt is sound, which may have a price of its own. */
export function isSound(value: string, mimeType = ""): boolean {
  const [, type = mimeType.split("/", 1)[0]] = dataAddress.exec(value) ?? [];
  return type ? type === "audio" : soundStart.test(value.slice(0, 16));
}

/** The base64 of WAVE, MP3 (with a tag or without), AAC, Ogg and FLAC. */
const soundStart = /^(UklGR.{7}QVZF|SUQz|\/\/[E-Pk-v]|T2dnUw|ZkxhQ)/;

/**
 * The lengths are those of media types; without a limit, each end of a longer name would be tried.
 */
const dataAddress = /^data:(\w{1,127})\/([\w.+-]{1,127})[^,]{0,200},/;

/** Returns the tokens of media in an answer, from the number of its base64 characters. */
export function answerMediaTokens(
  { media, mimeType, chars }: { media: "image" | "audio"; mimeType: string; chars: number },
): number {
  if (media === "image") return generatedImageTokens;
  const [type = "", format = ""] = mimeType.split("/");
  return tokensOf(kindByType(type, format) === "samples" ? "samples" : "packed", chars);
}

/**
 * Base64 characters of sealed reasoning: those around it, at most, and those of each token. OpenAI's,
 * as recorded: 1,060 for no tokens, 1,164 for 37, 1,316 for 55, 1,572 for 128. Anthropic's signatures
 * grow with the text of the thinking; its newest model has 688 for 30 tokens.
 */
const sealedChars: Readonly<Record<string, { around: number; perToken: number } | undefined>> = {
  responses: { around: 1060, perToken: 4 },
  messages: { around: 600, perToken: 16 / 3 },
};

/** Returns the tokens of reasoning that came sealed in a dialect; 0 if it is too short to tell. */
export function sealedReasoningTokens(
  { dialect, value }: { dialect: string; value: string },
): number {
  const chars = sealedChars[dialect];
  return chars ? Math.max(0, Math.floor((value.length - chars.around) / chars.perToken)) : 0;
}

/** Whether a text is base64, judged by its first 1,000 characters; shorter texts count as words. */
export function isLongBase64(text: string): boolean {
  if (text.length <= minBase64) return false;
  const start = text.slice(0, minBase64);
  return !/\s/.test(start) && /^[A-Za-z0-9+/_=-]+$/.test(start);
}

const minBase64 = 1000;
/** UTF-16 units that are counted in a step. */
const countedUnits = 512 * 1024;

/**
 * Counts, in steps, the UTF-16 units of a JSON text that are words, and its long pieces of base64; a
 * text that was cut may end in one.
 */
export function* wordsAndMedia(text: string): Steps<{ chars: number; pieces: number }> {
  let chars = text.length;
  let pieces = 0;
  for (let from = 0, paused = 0; from < text.length;) {
    if (from - paused > countedUnits) {
      paused = from;
      yield;
    }
    const start = text.slice(from, from + minBase64 + 1);
    // What comes before any quote that is near is too short.
    let to = from + start.lastIndexOf('"');
    if (to < from) {
      const found = text.indexOf('"', from + start.length);
      to = found < 0 ? text.length : found;
      if (isLongBase64(start)) {
        chars -= to - from;
        pieces++;
      }
    }
    from = to + 1;
  }
  return { chars, pieces };
}

type Kind = "image" | keyof typeof bytesPerToken;

/** What the `mimeType` beside base64 says, as the vendor reads it. */
function kindBeside(value: string, mimeType: string): Kind | undefined {
  const [type = "", format = ""] = mimeType.split("/");
  return /^https?:/.test(value) ? undefined : kindByType(type, format);
}

function kindByType(type: string, format: string): Kind | undefined {
  switch (type) {
    case "image":
      return "image";
    case "audio":
      return /^(x-)?(wav|l16|pcm)/i.test(format) ? "samples" : "packed";
    case "video":
      return "packed";
    case "text":
      return "text";
    case "application":
      return /\b(json|xml|yaml|javascript|sql)$/i.test(format) ? "text" : "document";
    default:
      return undefined;
  }
}

/** Recognizes the base64 of PNG, JPEG, GIF and WebP; PDF; sound; MP4. */
function kindByStart(start: string): Kind | undefined {
  if (/^(iVBORw0KGgo|\/9j\/|R0lGOD|UklGR.{7}RUJQ)/.test(start)) return "image";
  if (start.startsWith("JVBERi0")) return "document";
  if (/^UklGR.{7}QVZF/.test(start)) return "samples";
  return soundStart.test(start) || /^AAAA..Z0eX/.test(start) ? "packed" : undefined;
}

function tokensOf(kind: keyof typeof bytesPerToken, chars: number): number {
  return Math.ceil(chars * 3 / 4 / bytesPerToken[kind]);
}
