import { Fault, invalidValue } from "../../shared/fault.ts";

/** Pixels. */
export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** Whole numbers, as written, such as 16 and 9. */
export type Ratio = PixelSize;

/** About one, four or sixteen million pixels. */
export type Resolution = "1K" | "2K" | "4K";

/**
 * Stands for an invalid size until the model is known, because the error lists the model's sizes.
 */
export const noSize: PixelSize = { width: 0, height: 0 };

/** Reads a caller's size; `noSize` if it isn't one. */
export function readAskedSize(text: string): PixelSize {
  return /^[1-9]\d{0,4}x[1-9]\d{0,4}$/.test(text) ? readSize(text) : noSize;
}

/** For vendors that accept any size. Throws `invalid_value` for `noSize`. */
export function checkAnySize(size: PixelSize | undefined): void {
  if (size !== noSize) return;
  throw notAllowed("size", "expected auto or pixels such as", ["1024x1024", "1536x1024"]);
}

/** Reads `1024x1024`, which has been validated. */
export function readSize(text: string): PixelSize {
  const [width, height] = text.split("x").map(Number);
  return { width: width!, height: height! };
}

/** Reads `16:9`, which has been validated. */
export function readRatio(text: string): Ratio {
  const [width, height] = text.split(":").map(Number);
  return { width: width!, height: height! };
}

export function sizeText({ width, height }: PixelSize): string {
  return `${width}x${height}`;
}

export function isOfRatio(size: PixelSize, ratio: Ratio): boolean {
  return Math.abs(quotient(size) / quotient(ratio) - 1) <= 0.02;
}

/** Returns the listed shape whose ratio is closest. */
export function nearest<Shape extends PixelSize>(
  wanted: PixelSize,
  shapes: readonly [Shape, ...Shape[]],
): Shape {
  const distance = (shape: PixelSize) => Math.abs(Math.log(quotient(wanted) / quotient(shape)));
  return shapes.reduce((best, shape) => distance(shape) < distance(best) ? shape : best);
}

export function resolutionOf({ width, height }: PixelSize): Resolution {
  const megapixels = Math.log2(width * height / 2 ** 20);
  return megapixels < 1 ? "1K" : megapixels < 3 ? "2K" : "4K";
}

/** An image's ratio and resolution, for vendors that use these instead of pixels. */
interface RatioAndResolution {
  /** The vendor's spelling; undefined: not requested. */
  ratio: string | undefined;
  resolution: Resolution | undefined;
}

/**
 * Returns the requested ratio and resolution. Throws `invalid_value` with the allowed values if no
 * ratio is within 2 % of the size, or the model doesn't have the resolution.
 */
export function asRatio(ask: {
  size: PixelSize | undefined;
  ratio: string | undefined;
  resolution: Resolution | undefined;
}, model: { ratios: readonly string[]; resolutions: readonly Resolution[] }): RatioAndResolution {
  const { size } = ask;
  const wanted = ask.ratio === undefined ? size : readRatio(ask.ratio);
  const ratio = wanted &&
    model.ratios.find((one) => isOfRatio(wanted, readRatio(one)));
  if (wanted && ratio === undefined) {
    const field = ask.ratio === undefined ? "size" : "aspect_ratio";
    throw notAllowed(field, "this model has the aspect ratios", model.ratios);
  }
  const resolution = ask.resolution ?? (size && resolutionOf(size));
  if (resolution !== undefined && !model.resolutions.includes(resolution)) {
    const field = ask.resolution === undefined ? "size" : "resolution";
    throw notAllowed(field, "this model has the resolutions", model.resolutions);
  }
  // With a single resolution the vendor has no field for it.
  return { ratio, resolution: model.resolutions.length > 1 ? resolution : undefined };
}

export function notAllowed(field: string, what: string, allowed: readonly string[]): Fault {
  return invalidValue(field, `${what} ${allowed.join(", ")}`);
}

function quotient({ width, height }: PixelSize): number {
  return width / height;
}
