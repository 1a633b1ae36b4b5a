import type { Usage } from "../shared/usage.ts";

/** Dimensions that are priced by the million, with their names in `PRICES_FILE`. */
export const millionNames = {
  input: "input",
  output: "output",
  cacheRead: "cache_read",
  cacheWrite: "cache_write",
  cacheWriteLong: "cache_write_1h",
  reasoning: "reasoning",
  audioInput: "audio_input",
  cachedAudioInput: "cached_audio_input",
  audioOutput: "audio_output",
  imageInput: "image_input",
  imageOutput: "image_output",
  perCharacter: "per_million_characters",
} as const;

/** Dimensions that are priced by the piece, except images, with their names in `PRICES_FILE`. */
export const pieceNames = {
  perRequest: "per_request",
  perMinute: "per_minute",
  perWebSearch: "per_web_search",
  perXSearch: "per_x_search",
  perFileSearch: "per_file_search",
  /** A container in which the vendor runs code; a run of code where the vendor bills those. */
  perCodeSession: "per_code_session",
  perMapsQuery: "per_maps_query",
} as const;

/** The dimensions that a price table may have a price for, except images. */
export type Dimension = keyof typeof millionNames | keyof typeof pieceNames;

export type TokenDimension = Exclude<keyof typeof millionNames, "perCharacter">;

/** Work that a vendor does besides running its model, and bills by the piece. */
export type HostedDimension = Exclude<keyof typeof pieceNames, "perRequest" | "perMinute">;

/** Dimensions of tokens of the prompt. */
export const inputDimensions: readonly Dimension[] = [
  "input",
  "cacheRead",
  "cacheWrite",
  "cacheWriteLong",
  "audioInput",
  "cachedAudioInput",
  "imageInput",
];

/** Tokens of one dimension; `input` and `output` here mean plain text, with nothing else inside. */
export interface Part {
  dimension: TokenDimension;
  count: number;
}

/**
 * Usage as disjoint parts, each ≥ 0, empty ones left out. The input parts sum to `usage.input` and
 * the output parts to `usage.output`; where a vendor reports parts that exceed their total, the
 * parts are taken as they are and the plain rest is 0, except that reasoning is
 * cut to the output.
 */
export function partsOf(usage: Usage): Part[] {
  const parts: Part[] = [];
  addInput(parts, usage);
  addOutput(parts, usage);
  return parts;
}

function add(parts: Part[], dimension: TokenDimension, count: number): void {
  if (count > 0) parts.push({ dimension, count });
}

function addInput(parts: Part[], usage: Usage): void {
  const read = tokens(usage.cacheRead);
  const write = tokens(usage.cacheWrite);
  const writeLong = tokens(usage.cacheWriteLong);
  const audio = tokens(usage.audioInput);
  // Cached images cost what cached text does.
  const cachedImage = Math.min(tokens(usage.cachedImageInput), read);
  const image = atLeast0(tokens(usage.imageInput) - cachedImage);
  const total = tokens(usage.input);
  // Audio and images may be inside the cached and written tokens. Where the vendor doesn't say how
  // many, it is as many as the total can't hold otherwise, so that no token is charged twice.
  const cached = read + write + writeLong;
  const over = atLeast0(cached + audio + image - total);
  const reported = usage.cachedAudioInput === undefined ? over : tokens(usage.cachedAudioInput);
  const cachedAudio = Math.min(reported, read, audio);
  let overlap = Math.min(atLeast0(over - cachedAudio), cached - cachedAudio);
  const imageRest = atLeast0(image - overlap);
  overlap -= image - imageRest;
  const audioRest = atLeast0(audio - cachedAudio - overlap);
  const others = cached + audioRest + imageRest;
  add(parts, "input", total - others);
  add(parts, "cacheRead", read - cachedAudio);
  add(parts, "cacheWrite", write);
  add(parts, "cacheWriteLong", writeLong);
  add(parts, "audioInput", audioRest);
  add(parts, "cachedAudioInput", cachedAudio);
  add(parts, "imageInput", imageRest);
}

function addOutput(parts: Part[], usage: Usage): void {
  const total = tokens(usage.output);
  const audio = tokens(usage.audioOutput);
  const image = tokens(usage.imageOutput);
  const rest = atLeast0(total - audio - image);
  const reasoning = Math.min(tokens(usage.reasoning), rest);
  add(parts, "output", rest - reasoning);
  add(parts, "reasoning", reasoning);
  add(parts, "audioOutput", audio);
  add(parts, "imageOutput", image);
}

/** A reported count; what is no count (absent, negative, NaN) is 0. */
function tokens(count: number | undefined): number {
  return count !== undefined && Number.isFinite(count) ? Math.ceil(atLeast0(count)) : 0;
}

function atLeast0(count: number): number {
  return Math.max(0, count);
}
