import type { Modality } from "./canonical_request.ts";
import { asString } from "./json.ts";

/** Reads a list of output kinds, in either case. Undefined if it has others than text and images. */
export function readModalities(value: unknown): readonly Modality[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const names = value.map((one: unknown) => asString(one)?.toLowerCase());
  return names.every((name) => name === "text" || name === "image") ? names : undefined;
}
