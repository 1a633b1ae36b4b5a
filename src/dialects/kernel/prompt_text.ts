import { finish, type Steps } from "../../base/steps.ts";
import { isLongBase64, isSound, promptMediaTokens } from "../../shared/media_estimate.ts";
import { estimateAll } from "../../shared/token_estimate.ts";
import type { Usage } from "../../shared/usage.ts";
import { asString, isRecord, type JsonRecord } from "./json.ts";
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

/**
 * The names of objects whose members the caller names: what a tool is called with and answers, and
 * schemas. All their strings are words, and so are the names.
 */
const toolDataName = /^(?:input|args|response)$|parameters|schema$/i;

/** Shorter strings aren't the address of anything. */
const minMediaChars = 8;

/**
 * Returns the text of a request in any dialect, and the estimated tokens of its media, to count
 * tokens if the vendor doesn't. The text is every string in the body that isn't media. Iterative,
 * since callers may nest arbitrarily deep.
 */
export function* promptContent(body: unknown): Steps<PromptContent> {
  const content: PromptContent = { texts: [], mediaTokens: 0, audioTokens: 0 };
  const stack: unknown[] = [body];
  /** Values of fields that hold media. */
  const media: unknown[] = [];
  /** Values in which the caller named the fields. */
  const toolData: unknown[] = [];
  for (let looked = 1; stack.length > 0 || media.length > 0 || toolData.length > 0; looked++) {
    if (looked % 2048 === 0) yield;
    const list = toolData.length > 0 ? toolData : media.length > 0 ? media : stack;
    const value = list.pop();
    if (typeof value === "string") {
      if (list === media) addMedia(content, value);
      else content.texts.push(value);
    } else if (Array.isArray(value)) {
      for (const one of value) list.push(one);
    } else if (isRecord(value)) {
      for (const name of Object.keys(value)) {
        const one = value[name];
        if (list === toolData) content.texts.push(name);
        if (list === toolData || isRecord(one) && toolDataName.test(name)) toolData.push(one);
        else if (!mayHoldMedia(one, name, value)) stack.push(one);
        else if (typeof one === "string") {
          addMedia(content, one, name === "file_data" ? fileType(one, value) : mediaType(value));
        } else media.push(one);
      }
    }
  }
  return content;
}

/** Most strings are too short for media; records are read by their own names. */
function mayHoldMedia(value: unknown, name: string, { type }: JsonRecord): boolean {
  const isPossible = typeof value === "string"
    ? value.length >= minMediaChars
    : Array.isArray(value);
  // The data of a plain text document are words.
  return isPossible && type !== "text" && mediaName.test(name);
}

function mediaType({ mimeType, mime_type }: JsonRecord): string | undefined {
  return asString(mimeType ?? mime_type);
}

/** The type of a file by its name, where its base64 doesn't tell; OpenAI takes it without `data:`. */
function fileType(data: string, { filename }: JsonRecord): string | undefined {
  if (promptMediaTokens(data) > 0) return undefined;
  return textFile.test(asString(filename)?.slice(-12) ?? "") ? "text/plain" : "application/pdf";
}

const textFile = /\.(?:txt|md|csv|tsv|json|xml|html?|ya?ml|log|js|ts|py)$/i;

function addMedia(content: PromptContent, value: string, mimeType?: string): void {
  if (!isMedia(value)) return void content.texts.push(value);
  const tokens = promptMediaTokens(value, mimeType);
  content.mediaTokens += tokens;
  if (isSound(value, mimeType)) content.audioTokens += tokens;
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
  const [first] = foldEvents(finish(dialect.decodeAnswer(json, {}))).choices;
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
