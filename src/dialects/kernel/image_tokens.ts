import type { Usage } from "../../shared/usage.ts";
import type { JsonRecord } from "./json.ts";

/**
 * Estimates the output tokens of one image of a model priced by the token, never fewer than the
 * vendor counts: 4,160 for 1024 × 1024 at high quality, in proportion to the pixels; a quarter of
 * that at medium, a fifteenth at low. Above high nothing is documented: twice as much is assumed. A
 * size that isn't in pixels counts as 1536 × 1024.
 */
export function imageTokens(quality: string | undefined, size: string | undefined): number {
  const [width = 1536, height = 1024] =
    /^(\d{1,5})x(\d{1,5})$/.exec(size ?? "")?.slice(1).map(Number) ??
      [];
  return Math.ceil(width * height * (tokensPerPixel.get(quality ?? "high") ?? 0.004));
}

/** A map, because the caller names the quality, and an object would also have `constructor`. */
const tokensPerPixel: ReadonlyMap<string, number> = new Map([
  ["low", 0.000_27],
  ["medium", 0.001_05],
  ["high", 0.004],
  ["xhigh", 0.008],
  ["max", 0.008],
]);

/** Frames of a GIF whose request doesn't say how many. */
const usualFrames = 9;

/** Returns the number of frames of each picture that a request in OpenAI's format asks for. */
export function framesOf({ frame_count: asked, output_format: format }: JsonRecord): number {
  const frames = Number(asked);
  if (Number.isInteger(frames) && frames > 0) return frames;
  return format === "gif" ? usualFrames : 1;
}

/** Output tokens of each partial image in a stream. */
export const partialImageTokens = 100;

/** Adds partial images that no report counts: those of an image before which a stream broke off. */
export function withPartialImages<Counted extends Usage>(
  usage: Counted,
  partials: number,
): Counted {
  const tokens = partials * partialImageTokens;
  const { output, imageOutput = output } = usage;
  return { ...usage, output: output + tokens, imageOutput: imageOutput + tokens };
}
