/** Vendor-side work that is priced by use. */
export type HostedCounts = Pick<
  Usage,
  "webSearches" | "xSearches" | "fileSearches" | "codeSessions"
>;

/** Vendor-side work that an answer shows, where its usage isn't reported. */
export interface CountedWork extends HostedCounts {
  /** Estimated prompt tokens of the results, which the model has read. */
  resultTokens?: number;
  /** Estimated output tokens of what the model wrote for it: code, commands, arguments. */
  writtenTokens?: number;
}

/**
 * Token usage of one call in a vendor-neutral form. All counts are integers ≥ 0. A part that the
 * vendor did not report is absent, which differs from 0. `input` and `output` are totals that include
 * the parts below.
 */
export interface Usage {
  /** The whole prompt, including cached tokens. */
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
  /** Of `cacheRead`. */
  cachedImageInput?: number;
  /** The whole output, including reasoning. */
  output: number;
  /** Of `output`. */
  reasoning?: number;
  /** Of `output`. */
  audioOutput?: number;
  /** Of `output`. */
  imageOutput?: number;
  /** Vendor-side web searches that the call made. */
  webSearches?: number;
  /** Searches of the vendor's social network. */
  xSearches?: number;
  /** Searches of files stored at the vendor. */
  fileSearches?: number;
  /** Containers in which the vendor ran code; runs of code where the vendor bills those. */
  codeSessions?: number;
  /** Queries of the vendor's maps; grounded prompts where the vendor bills those. */
  mapsQueries?: number;
  /** The cost that the vendor (an aggregator) reported, as a decimal string in USD. */
  vendorCostUsd?: string;
  serviceTier?: string;
  /** The region that the vendor reported, such as `us`. */
  region?: string;
  /**
   * Of the usage: passes with a prompt of their own, by other models than the requested one
   * (advisors, fallbacks) or, without `model`, by itself (compaction).
   */
  otherModels?: readonly { model?: string; usage: Usage }[];
  /** The total that the vendor left out of a report: what it has is the least that it can be. */
  unreported?: "input" | "output";
  /** The vendor's own usage object, for the record. */
  raw?: unknown;
}
