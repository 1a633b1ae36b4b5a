import assert from "@std/assert";
import type { ImageAsk, ImageCodec } from "../../src/dialects/kernel/image_codec.ts";
import type { JsonRecord } from "../../src/dialects/kernel/json.ts";
import { Fault } from "../../src/shared/fault.ts";

/** A request with a prompt and nothing else. */
export function imageAsk(model: string, more: Partial<ImageAsk> = {}): ImageAsk {
  return {
    model,
    prompt: "A lighthouse",
    count: 1,
    size: undefined,
    ratio: undefined,
    resolution: undefined,
    quality: undefined,
    format: undefined,
    compression: undefined,
    background: undefined,
    style: undefined,
    moderation: undefined,
    seed: undefined,
    negativePrompt: undefined,
    personGeneration: undefined,
    references: [],
    stream: false,
    asAddress: false,
    partialImages: undefined,
    user: undefined,
    options: {},
    ...more,
  };
}

/** All fields that some vendors lack. */
export const everything: Partial<ImageAsk> = {
  quality: "high",
  compression: 80,
  background: "opaque",
  style: "vivid",
  moderation: "low",
  seed: 7,
  negativePrompt: "people",
  personGeneration: "dont_allow",
  user: "user-42",
};

/** Returns the JSON bodies of the calls that a request is encoded as. */
export function bodiesOf(wire: ImageCodec, ask: ImageAsk): JsonRecord[] {
  return wire.encode(ask).calls.map(({ body }) => {
    assert.equal(body.type, "json");
    return body.type === "json" ? body.value : {};
  });
}

export function lossesOf(wire: ImageCodec, ask: ImageAsk): string[] {
  return wire.encode(ask).losses.map(({ path, weight }) => `${path}:${weight}`).sort();
}

/** Asserts that `act` throws a fault about the field, with all of the words in its message. */
export function refused(act: () => unknown, param: string, ...words: string[]): void {
  assert.throws(act, (fault: unknown) => {
    if (!(fault instanceof Fault)) return false;
    assert.equal(fault.param, param);
    for (const word of words) assert(fault.message.includes(word), `${fault.message} ∌ ${word}`);
    return true;
  });
}
