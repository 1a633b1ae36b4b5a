import assert from "@std/assert";
import {
  bodiesOf,
  everything,
  imageAsk,
  lossesOf,
  refused,
} from "../../../../tests/support/image_ask.ts";
import { aggregated } from "./aggregated.ts";
import { hosted } from "./hosted.ts";
import { ratioGenerations } from "./ratio_generations.ts";

const reference = { type: "base64", mimeType: "image/png", data: "aGk=" } as const;
const address = { type: "url", url: "https://example.com/a.png" } as const;

Deno.test("ratios and resolutions go in the vendor's words, sizes become them", () => {
  const [body] = bodiesOf(
    ratioGenerations,
    imageAsk("grok-imagine-image", { size: { width: 2560, height: 1440 }, count: 3 }),
  );
  assert.deepEqual(body, {
    model: "grok-imagine-image",
    prompt: "A lighthouse",
    n: 3,
    response_format: "b64_json",
    aspect_ratio: "16:9",
    resolution: "2k",
  });
  refused(
    () => ratioGenerations.encode(imageAsk("grok-imagine-image", { ratio: "5:4" })),
    "aspect_ratio",
    "19.5:9",
  );
  refused(
    () => ratioGenerations.encode(imageAsk("grok-imagine-image", { stream: true })),
    "stream",
  );
});

Deno.test("edits are JSON: one picture, or a list of several", () => {
  const one = ratioGenerations.encode(imageAsk("grok-imagine-image", { references: [address] }));
  assert.equal(one.calls[0]!.path, "/images/edits");
  const body = (references: (typeof reference | typeof address)[]) =>
    bodiesOf(ratioGenerations, imageAsk("grok-imagine-image", { references }))[0]!;
  assert.deepEqual(body([address]).image, { url: address.url, type: "image_url" });
  assert.deepEqual(body([address, reference]).images, [
    { url: address.url, type: "image_url" },
    { url: "data:image/png;base64,aGk=", type: "image_url" },
  ]);
});

Deno.test("pictures that moderation holds back are no pictures", () => {
  const answer = ratioGenerations.decode({
    data: [{ b64_json: "aGk=" }, { b64_json: "", respect_moderation: false }],
    usage: { cost_in_usd_ticks: 400_000_000 },
  });
  assert.equal(answer.images.length, 1);
  assert(answer.refusal);
  const all = ratioGenerations.decode({ data: [{ respect_moderation: false, url: "https://x" }] });
  assert.equal(all.images.length, 0);
});

Deno.test("the aggregator takes nearly everything, but a size or a resolution", () => {
  const [body] = bodiesOf(
    aggregated,
    imageAsk("google/gemini-2.5-flash-image", {
      ...everything,
      ratio: "16:9",
      references: [address],
    }),
  );
  assert.equal(body!.seed, 7);
  assert.equal(body!.aspect_ratio, "16:9");
  assert.deepEqual(body!.input_references, [
    { type: "image_url", image_url: { url: address.url } },
  ]);
  assert.deepEqual(lossesOf(aggregated, imageAsk("a/b", everything)), [
    "moderation:meaning",
    "negative_prompt:meaning",
    "person_generation:meaning",
    "style:meaning",
  ]);
  refused(
    () =>
      aggregated.encode(
        imageAsk("a/b", { size: { width: 1024, height: 1024 }, resolution: "2K" }),
      ),
    "resolution",
  );
});

Deno.test("the aggregator's cost is read as the vendor reported it", () => {
  const answer = aggregated.decode({
    data: [{ image_url: { url: "data:image/png;base64,aGk=" } }],
    usage: { prompt_tokens: 5, completion_tokens: 1290, cost: 0.039 },
  });
  assert.deepEqual(answer.images, [{ data: "aGk=" }]);
  assert.equal(answer.usage?.vendorCostUsd, "0.039000000000");
});

Deno.test("hosted models get pixels, whole steps of sixteen", () => {
  const [body] = bodiesOf(
    hosted,
    imageAsk("black-forest-labs/FLUX.1-dev", { ratio: "16:9", seed: 7 }),
  );
  assert.deepEqual([body!.width, body!.height, body!.seed], [1360, 768, 7]);
  refused(
    () => hosted.encode(imageAsk("a/b", { references: [reference] })),
    "images",
  );
  refused(() => hosted.encode(imageAsk("a/b", { format: "webp" })), "output_format", "png, jpeg");
});

Deno.test("an answer without pictures is a refusal, one without a list is none", () => {
  assert(hosted.decode({ data: [] }).refusal);
  assert.throws(() => hosted.decode({ images: [] }));
  assert.deepEqual(hosted.decode({ data: [{ url: "https://example.com/a.png" }] }).images, [
    { url: "https://example.com/a.png" },
  ]);
});
