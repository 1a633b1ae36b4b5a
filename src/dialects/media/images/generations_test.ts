import assert from "@std/assert";
import {
  bodiesOf,
  everything,
  imageAsk,
  lossesOf,
  refused,
} from "../../../../tests/support/image_ask.ts";
import type { ImageAsk } from "../../kernel/image_codec.ts";
import { generations } from "./generations.ts";

const modern = "gpt-image-1.5";

Deno.test("only dall-e gets the response format, since gpt-image refuses it", () => {
  for (const model of ["gpt-image-1", modern, "gpt-image-2", "chatgpt-image-latest"]) {
    const [body] = bodiesOf(generations, imageAsk(model));
    assert(!("response_format" in body!), model);
    assert.equal(body!.model, model);
    assert.equal(body!.n, 1);
  }
  for (const model of ["dall-e-2", "dall-e-3"]) {
    assert.equal(bodiesOf(generations, imageAsk(model))[0]!.response_format, "b64_json");
  }
});

Deno.test("sizes and ratios become a size of the model", () => {
  const cases: [string, Partial<ImageAsk>, string | undefined][] = [
    [modern, {}, undefined],
    [modern, { size: { width: 1536, height: 1024 } }, "1536x1024"],
    [modern, { ratio: "1:1" }, "1024x1024"],
    [modern, { ratio: "3:2" }, "1536x1024"],
    [modern, { ratio: "2:3" }, "1024x1536"],
    [modern, { ratio: "16:9" }, "1536x1024"],
    [modern, { ratio: "9:16" }, "1024x1536"],
    [modern, { resolution: "1K" }, undefined],
    ["gpt-image-2", { ratio: "3:2" }, "1536x1024"],
    ["gpt-image-2", { ratio: "16:9" }, "1280x720"],
    ["gpt-image-2", { ratio: "16:9", resolution: "4K" }, "3840x2160"],
    ["gpt-image-2", { resolution: "2K" }, "2048x2048"],
    ["gpt-image-2", { size: { width: 2560, height: 1440 } }, "2560x1440"],
    ["dall-e-3", { ratio: "16:9" }, "1792x1024"],
    ["dall-e-2", { size: { width: 256, height: 256 } }, "256x256"],
  ];
  for (const [model, more, size] of cases) {
    assert.equal(bodiesOf(generations, imageAsk(model, more))[0]!.size, size, JSON.stringify(more));
  }
});

Deno.test("a size that the model doesn't have is refused with those that it has", () => {
  const of = (model: string, width: number, height: number) => () =>
    generations.encode(imageAsk(model, { size: { width, height } }));
  refused(of(modern, 512, 512), "size", "auto, 1024x1024, 1536x1024, 1024x1536");
  refused(of("dall-e-2", 1536, 1024), "size", "256x256", "512x512");
  refused(of("gpt-image-2", 1000, 1000), "size", "multiples of 16");
  refused(of("gpt-image-2", 3840, 1024), "size", "3:1");
  refused(of("gpt-image-2", 4096, 4096), "size", "3840x2160");
  refused(
    () => generations.encode(imageAsk(modern, { resolution: "4K" })),
    "resolution",
    "1K",
  );
});

Deno.test("a model that draws one picture a call is called once for each", () => {
  const bodies = bodiesOf(generations, imageAsk("dall-e-3", { count: 3 }));
  assert.deepEqual(bodies.map(({ n }) => n), [1, 1, 1]);
  assert.deepEqual(bodiesOf(generations, imageAsk(modern, { count: 10 })).map(({ n }) => n), [10]);
});

Deno.test("what a model can't carry is listed: hints, and what changes the meaning", () => {
  assert.deepEqual(lossesOf(generations, imageAsk(modern, everything)), [
    "negative_prompt:meaning",
    "person_generation:meaning",
    "seed:meaning",
    "style:meaning",
  ]);
  assert.deepEqual(lossesOf(generations, imageAsk("dall-e-3", everything)), [
    "background:meaning",
    "moderation:meaning",
    "negative_prompt:meaning",
    "output_compression:meaning",
    "person_generation:meaning",
    "seed:meaning",
  ]);
});

Deno.test("dall-e-3 knows two qualities, and its price goes by them", () => {
  const quality = (asked: ImageAsk["quality"]) => {
    const ask = imageAsk("dall-e-3", { quality: asked });
    return [bodiesOf(generations, ask)[0]!.quality, generations.encode(ask).priced.quality];
  };
  assert.deepEqual(quality("high"), ["hd", "hd"]);
  assert.deepEqual(quality("low"), ["standard", "standard"]);
  assert.deepEqual(quality(undefined), [undefined, "standard"]);
});

Deno.test("edits are a form whose files are the reference pictures", () => {
  const data = btoa("picture");
  const reference = { type: "base64", mimeType: "image/png", data } as const;
  const [call] = generations.encode(imageAsk(modern, { references: [reference, reference] })).calls;
  assert.equal(call!.path, "/images/edits");
  assert.equal(call!.body.type, "form");
  const parts = call!.body.type === "form" ? call!.body.parts : [];
  assert.deepEqual(parts.filter((part) => "text" in part), [
    { name: "model", text: modern },
    { name: "prompt", text: "A lighthouse" },
    { name: "n", text: "1" },
  ]);
  assert.deepEqual(parts.filter((part) => "data" in part).map(({ name }) => name), [
    "image[]",
    "image[]",
  ]);
  refused(
    () => generations.encode(imageAsk("dall-e-3", { references: [reference] })),
    "images",
    "dall-e-3",
  );
});

Deno.test("long prompts, formats and streams that a model doesn't have are refused", () => {
  const encode = (model: string, more: Partial<ImageAsk>) => () =>
    generations.encode(imageAsk(model, more));
  refused(encode(modern, { prompt: "x".repeat(32_001) }), "prompt", "32000");
  refused(encode("dall-e-3", { prompt: "x".repeat(4001) }), "prompt", "4000");
  refused(encode("dall-e-2", { prompt: "x".repeat(1001) }), "prompt", "1000");
  assert.doesNotThrow(encode("dall-e-2", { prompt: "🎨".repeat(1000) }));
  refused(encode("dall-e-3", { format: "webp" }), "output_format", "png");
  refused(encode(modern, { background: "transparent", format: "jpeg" }), "output_format", "webp");
  refused(encode("dall-e-3", { stream: true }), "stream", "gpt-image");
  const [body] = bodiesOf(generations, imageAsk(modern, { stream: true, partialImages: 2 }));
  assert.deepEqual([body!.stream, body!.partial_images], [true, 2]);
});

Deno.test("options of the vendor are put in, but for what the service decides", () => {
  const [body] = bodiesOf(generations, imageAsk(modern, { options: { input_fidelity: "high" } }));
  assert.equal(body!.input_fidelity, "high");
  refused(
    () => generations.encode(imageAsk(modern, { options: { n: 10 } })),
    "provider_options.n",
  );
  refused(
    () => generations.encode(imageAsk(modern, { options: { partial_images: 3 } })),
    "provider_options.partial_images",
  );
});

Deno.test("a GIF by options of the vendor is held with all of its frames", () => {
  const held = (options: ImageAsk["options"]) =>
    generations.encode(imageAsk(modern, { options, quality: "low" })).tokensPerImage;
  const [one] = [held({})];
  assert.equal(held({ output_format: "gif" }), 9 * one);
  assert.equal(held({ output_format: "gif", frame_count: 16 }), 16 * one);
});

Deno.test("an answer is read with its usage, all output as pictures where nothing else is said", () => {
  const answer = generations.decode({
    created: 1,
    data: [{ b64_json: "aGk=", revised_prompt: "A tall lighthouse" }],
    usage: {
      input_tokens: 20,
      input_tokens_details: { text_tokens: 15, image_tokens: 5 },
      output_tokens: 4160,
      total_tokens: 4180,
    },
  });
  assert.deepEqual(answer.images, [{ data: "aGk=", revisedPrompt: "A tall lighthouse" }]);
  assert.equal(answer.usage?.imageInput, 5);
  assert.equal(answer.usage?.imageOutput, 4160);
  assert.throws(() => generations.decode({ data: "none" }));
});

Deno.test("a stream's last event brings the picture, and an error among them is one", () => {
  const read = generations.stream!.read;
  assert.deepEqual(read({ type: "image_generation.partial_image", b64_json: "aGk=" }), {
    isPartial: true,
  });
  assert.deepEqual(read({ type: "image_generation.in_progress" }), {});
  const completed = { type: "image_generation.completed", b64_json: "aGk=" };
  assert.deepEqual(read(completed), { image: { data: "aGk=" } });
  assert.deepEqual(read({ ...completed, type: "image_edit.completed" }).image, { data: "aGk=" });
  assert(read({ type: "error", code: "moderation_blocked", message: "no" }).error);
  assert(read({ error: { message: "no" } }).error);
  assert(read({ error: "no" }).error);
});
