import { Buffer } from "node:buffer";
import { utf8Text } from "../base/bytes.ts";
import { wideLimits } from "../base/heavy_json.ts";
import { JsonCount } from "../base/json_count.ts";
import type { Steps } from "../base/steps.ts";
import { plainBase64Steps } from "../dialects/kernel/media_source.ts";
import type { Media } from "../shared/media.ts";
import { type AnswerFiles, externalizeFile, placeholder } from "./externalize_media.ts";

/**
 * Returns the text of a JSON answer with placeholders for its large strings of base64, which are
 * decoded from the bytes: strings of megabytes would stay in memory until a major collection.
 */
export function* takeFiles(answer: Uint8Array): Steps<{ text: string; files: AnswerFiles }> {
  const files = new Map<string, Media>();
  let text = "";
  let from = 0;
  for (const [start, end] of yield* largeStrings(answer)) {
    const content = yield* plainBase64Steps(asciiOf(answer.subarray(start + 1, end - 1)));
    if (!content) continue;
    const mark = placeholder();
    files.set(mark, (yield* externalizeFile(content, undefined)).media);
    text += utf8Text(answer.subarray(from, start + 1)) + mark;
    from = end - 1;
  }
  return { text: text + utf8Text(answer.subarray(from)), files };
}

/** Bytes that are written at a time; a multiple of three. */
const writtenBytes = 48 * 1024;

/** Returns the UTF-8 of a text with the base64 of its files in place of their placeholders. */
export function* withFiles(text: string, files: AnswerFiles): Steps<Uint8Array<ArrayBuffer>> {
  const parts: (string | Uint8Array)[] = [];
  let from = 0;
  for (const [mark, { content }] of files) {
    const at = text.indexOf(mark, from);
    parts.push(text.slice(from, at), content);
    from = at + mark.length;
  }
  parts.push(text.slice(from));
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + writtenLength(part), 0));
  let at = 0;
  const write = (text: string) => at += encoder.encodeInto(text, whole.subarray(at)).written;
  for (const part of parts) {
    if (typeof part === "string") write(part);
    else {
      for (let from = 0; from < part.length; from += writtenBytes) {
        write(part.subarray(from, from + writtenBytes).toBase64());
        yield;
      }
    }
  }
  return whole;
}

const encoder = new TextEncoder();

function writtenLength(part: string | Uint8Array): number {
  return typeof part === "string" ? Buffer.byteLength(part) : Math.ceil(part.length / 3) * 4;
}

/** Bytes that are searched in one step; of more, the text would be old garbage. */
const searchedBytes = 64 * 1024;

/** Finds the large string values, with their quotes, in order. */
function* largeStrings(answer: Uint8Array): Steps<(readonly [start: number, end: number])[]> {
  const count = new JsonCount(wideLimits);
  const text = asciiOf(answer);
  for (let at = 0; at < text.length; at += searchedBytes) {
    count.add(text.slice(at, at + searchedBytes));
    yield;
  }
  return [...count.large].filter(([start]) => answer[start] === quote).sort(([a], [b]) => a - b);
}

const quote = 0x22;

/** UTF-8 whose ASCII is all that matters: each byte is one unit. */
function asciiOf(bytes: Uint8Array) {
  const { length } = bytes;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, length);
  return { length, slice: (from: number, to: number) => buffer.toString("latin1", from, to) };
}
