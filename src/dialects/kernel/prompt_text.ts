import type { Steps } from "../../base/steps.ts";
import { isLongBase64, isSound, promptMediaTokens } from "../../shared/media_estimate.ts";
import { estimateAll } from "../../shared/token_estimate.ts";
import type { Usage } from "../../shared/usage.ts";
import { isRecord } from "./json.ts";
import type { CanonicalRequest, Part } from "./canonical_request.ts";
import type { Dialect } from "./dialect.ts";
import { foldEvents } from "./fold.ts";

interface PromptContent {
  texts: string[];
  mediaTokens: number;
  /** Of `mediaTokens`. */
  audioTokens: number;
}

/**
 * The names of all dialects' fields that hold media, addresses of media, or what a vendor sealed.
 * Every other string is words to its vendor, even if it looks like base64.
 */
const mediaName =
  /(?:^|_)(?:url|uri|data|image|images|audio|video|file|result|json)$|Uri$|[sS]ignature$|^encrypted_/;

/** Shorter strings aren't the address of anything. */
const minMediaChars = 8;

/**
 * Returns the text of a request in any dialect, and the estimated tokens of its media, to count
 * tokens if the vendor doesn't. The text is every string in the body that isn't media. Iterative,
 * since callers may nest arbitrarily deep.
 */
export function* promptContent(body: unknown): Steps<PromptContent> {
  const texts: string[] = [];
  let mediaTokens = 0;
  let audioTokens = 0;
  const stack: unknown[] = [body];
  /** Values of fields that hold media. */
  const media: unknown[] = [];
  for (let looked = 1; stack.length > 0 || media.length > 0; looked++) {
    if (looked % 2048 === 0) yield;
    const mayBeMedia = media.length > 0;
    const value = mayBeMedia ? media.pop() : stack.pop();
    if (typeof value === "string") {
      if (!mayBeMedia || !isMedia(value)) {
        texts.push(value);
        continue;
      }
      const tokens = promptMediaTokens(value);
      mediaTokens += tokens;
      if (isSound(value)) audioTokens += tokens;
    } else if (Array.isArray(value)) {
      const list = mayBeMedia ? media : stack;
      for (const one of value) list.push(one);
    } else if (isRecord(value)) {
      // The data of a plain text document are words.
      const isText = value.type === "text";
      for (const name of Object.keys(value)) {
        const one = value[name];
        // Most strings are too short for media; records are read by their own names.
        const isPossible = typeof one === "string"
          ? one.length >= minMediaChars
          : Array.isArray(one);
        (isPossible && !isText && mediaName.test(name) ? media : stack).push(one);
      }
    }
  }
  return { texts, mediaTokens, audioTokens };
}

export type PromptUsage = Pick<Usage, "input" | "audioInput">;

/** The estimated usage of a request, in steps. */
export function* promptUsage(body: unknown): Steps<PromptUsage> {
  const { texts, mediaTokens, audioTokens } = yield* promptContent(body);
  const input = (yield* estimateAll(texts)) + mediaTokens;
  return audioTokens > 0 ? { input, audioInput: audioTokens } : { input };
}

/** The estimated number of tokens of a request, in steps. */
export function* promptTokens(body: unknown): Steps<number> {
  return (yield* promptUsage(body)).input;
}

/** Addresses and base64 data are billed as media, not as text. */
function isMedia(value: string): boolean {
  // An address followed by text is a prompt.
  return /^(data:|https?:\/\/)\S*$/.test(value) || isLongBase64(value);
}

/** The text of a whole answer, of its first choice if there are several, without reasoning. */
export function answerText(dialect: Pick<Dialect, "decodeAnswer">, json: unknown): string {
  const [first] = foldEvents(dialect.decodeAnswer(json, {})).choices;
  return (first?.parts ?? []).flatMap(({ kind, text }) => kind === "text" ? text : []).join("");
}

/** Returns a request as a readable transcript. */
export function requestWords({ system, turns }: CanonicalRequest): string {
  return [
    ...system.map(({ text }) => `system: ${text}`),
    ...turns.map(({ role, parts }) => `${role}: ${parts.map(partText).join("\n")}`),
  ].join("\n\n");
}

function partText(part: Part): string {
  switch (part.type) {
    case "text":
    case "refusal":
    case "reasoning":
      return part.text;
    case "media":
      return `[${part.kind}]`;
    case "tool-call":
      return `[calls ${part.name} with ${part.arguments}]`;
    case "tool-result":
      return `[result: ${part.parts.map(partText).join("\n")}]`;
  }
}
