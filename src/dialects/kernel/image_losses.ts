import { Fault, invalidValue } from "../../shared/fault.ts";
import type { Loss, LossWeight } from "./canonical_request.ts";
import type { ImageAsk } from "./image_codec.ts";

/** Request fields that a vendor may not have, by their public names. */
const fields = {
  quality: ["quality", "hint"],
  compression: ["output_compression", "meaning"],
  background: ["background", "meaning"],
  style: ["style", "meaning"],
  moderation: ["moderation", "meaning"],
  seed: ["seed", "meaning"],
  negativePrompt: ["negative_prompt", "meaning"],
  personGeneration: ["person_generation", "meaning"],
  user: ["user", "hint"],
} as const satisfies Partial<Record<keyof ImageAsk, readonly [string, LossWeight]>>;

/**
 * Returns a loss for each field that is set but not carried; `table` has the fields' public names
 * and weights.
 */
export function unsupportedLosses<Field extends string>(
  ask: Readonly<Partial<Record<Field, unknown>>>,
  table: Readonly<Record<Field, readonly [string, LossWeight]>>,
  carried: readonly Field[],
): Loss[] {
  return (Object.keys(table) as Field[]).flatMap((field) => {
    if (ask[field] === undefined || carried.includes(field)) return [];
    const [path, weight] = table[field];
    return [{ path, weight }];
  });
}

/** The fields of the request that this vendor can't carry. */
export function lossesOf(ask: ImageAsk, carried: readonly (keyof typeof fields)[]): Loss[] {
  return unsupportedLosses(ask, fields, carried);
}

/** The fault for `stream` with a model that has no streams. */
export function noStream(model: string): Fault {
  return invalidValue(
    "stream",
    `${model} doesn't stream images; only gpt-image models of vendor-b do`,
  );
}
