/**
 * Token usage of one call in the neutral form of protocols/translation.md §9.
 * All counts are whole, ≥ 0. A part that the vendor did not report is absent, which is not the
 * same as 0. `input` and `output` are totals: the parts below are inside them.
 */
export interface Usage {
  /** Whole prompt, cached parts included. */
  input: number;
  /** Of `input`: read from the vendor's cache. */
  cacheRead?: number;
  /** Of `input`: written to the cache with the short lifetime (5 min, 30 min). */
  cacheWrite?: number;
  /** Of `input`: written to the cache with the long lifetime (1 h, 12 h). */
  cacheWriteLong?: number;
  /** Of `input`. */
  audioInput?: number;
  /** Of `cacheRead`. */
  cachedAudioInput?: number;
  /** Of `input`. */
  imageInput?: number;
  /** Whole output, reasoning included. */
  output: number;
  /** Of `output`. */
  reasoning?: number;
  /** Of `output`. */
  audioOutput?: number;
  /** Of `output`. */
  imageOutput?: number;
  /** Vendor-side web searches that the call made. */
  webSearches?: number;
  /** Searches of the vendor's own network of posts. */
  xSearches?: number;
  /** Searches of files that the vendor keeps. */
  fileSearches?: number;
  /** Containers in which the vendor ran code; runs of code where the vendor bills those. */
  codeSessions?: number;
  /** Queries of the vendor's maps; grounded prompts where the vendor bills those. */
  mapsQueries?: number;
  /** What the vendor says it charged, as a decimal string in USD (aggregator). */
  vendorCostUsd?: string;
  /** The tier that the vendor says it used, such as `flex`. */
  serviceTier?: string;
  /** The region that the vendor says the model ran in, such as `us`. */
  region?: string;
  /** Of the whole: what other models than the asked one did (advisors, fallbacks). */
  otherModels?: readonly { model: string; usage: Usage }[];
  /** The vendor's own usage object, kept for the record. */
  raw?: unknown;
}
