/**
 * Output tokens of one image of a model priced by the token, never fewer than the vendor counts:
 * 4,160 for 1024 × 1024 at high quality, in proportion to the pixels; a quarter of that at medium,
 * a fifteenth at low. Above high nothing is documented: twice as much is assumed.
 */
export function imageTokens(quality: string | undefined, size: string | undefined): number {
  const [width = 1536, height = 1024] = /^(\d+)x(\d+)$/.exec(size ?? "")?.slice(1).map(Number) ??
    [];
  return Math.ceil(width * height * (tokensPerPixel[quality ?? "high"] ?? 0.004));
}

const tokensPerPixel: Readonly<Record<string, number>> = {
  low: 0.000_27,
  medium: 0.001_05,
  high: 0.004,
  xhigh: 0.008,
  max: 0.008,
};

/** Output tokens of each partial image in a stream. */
export const partialImageTokens = 100;
