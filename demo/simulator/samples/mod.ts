/**
 * Makes valid pictures and sounds without an encoder library: gradients, tones and silence. The
 * same arguments give the same bytes.
 */
import { hash } from "../tokens.ts";
import { aac, AAC_FRAME } from "./aac.ts";
import { type Bytes } from "./bytes.ts";
import { flac } from "./flac.ts";
import { jpeg } from "./jpeg.ts";
import { mp3, MP3_FRAME } from "./mp3.ts";
import { opus } from "./opus.ts";
import { pcm, SAMPLE_RATE, wav } from "./pcm.ts";
import { png } from "./png.ts";
import { webp } from "./webp.ts";

export { SAMPLE_RATE } from "./pcm.ts";

export type PictureFormat = "png" | "jpeg" | "webp";
export type SoundFormat = "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm";

export const CONTENT_TYPES: Readonly<Record<SoundFormat, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

export interface Wish {
  format: PictureFormat;
  width: number;
  height: number;
  /** What the picture shows; determines its colours. */
  subject: string;
  isTransparent?: boolean;
  /** Minimum size of the file; PNG only. */
  minBytes?: number;
}

/** Returns a picture of exactly this format and size. */
export function picture({ format, width, height, subject, ...options }: Wish): Bytes {
  const seed = hash(subject);
  const colour = [0x40 | seed & 0xff, 0x40 | seed >> 8 & 0xff, 0x40 | seed >> 16 & 0xff] as const;
  if (format === "jpeg") return jpeg(width, height, seed % 128);
  return format === "webp" ? webp(width, height, colour) : png(width, height, colour, options);
}

/** Returns a sound of this format and duration, rounded to the format's frames. */
export function sound(format: SoundFormat, seconds: number, subject: string): Bytes {
  const samples = Math.round(seconds * SAMPLE_RATE);
  const seed = hash(subject);
  switch (format) {
    case "mp3":
      return mp3(Math.ceil(samples / MP3_FRAME));
    case "aac":
      return aac(Math.ceil(samples / AAC_FRAME));
    case "opus":
      return opus(seconds);
    case "flac":
      return flac(samples, seed);
    case "wav":
      return wav(samples, seed);
    case "pcm":
      return pcm(samples, seed);
  }
}

/** Returns how long saying a text takes: fifteen characters a second, at least half a second. */
export function secondsToSay(text: string): number {
  return Math.max(0.5, [...text].length / 15);
}
