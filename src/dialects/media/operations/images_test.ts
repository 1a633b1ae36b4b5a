import type { AnswerEnding } from "../../kernel/operation.ts";
import assert from "@std/assert";
import {
  boundOfRequest,
  eventOf,
  priceOf,
  readerOf,
} from "../../../../tests/support/operation_request.ts";
import { costOf } from "../../../pricing/pricing.ts";
import { Fault } from "../../../shared/fault.ts";
import { imageGenerations, readImageUsage } from "./images.ts";

const whole = { isComplete: true, price: undefined };
const body = { model: "gpt-image-2", prompt: "A red door, seen from afar.", quality: "low" };

Deno.test("the vendor's usage is what a picture cost, its images apart from its text", () => {
  const usage = {
    input_tokens: 300,
    input_tokens_details: { text_tokens: 44, image_tokens: 256, cached_tokens: 12 },
    output_tokens: 272,
    total_tokens: 572,
  };
  assert.deepEqual(readImageUsage(usage), {
    ...{ input: 300, imageInput: 256, cacheRead: 12, output: 272, imageOutput: 272 },
    raw: usage,
  });
  const split = { output_tokens: 300, output_tokens_details: { image_tokens: 272 } };
  assert.equal(readImageUsage(split)!.imageOutput, 272);
});

for (
  const usage of [undefined, null, "much", 7, [], {}, { total_tokens: 9 }, { input_tokens: "9" }]
) {
  Deno.test(`a usage of ${JSON.stringify(usage)} tells nothing, and pictures are counted`, () => {
    assert.equal(readImageUsage(usage), undefined);
    const reader = readerOf(imageGenerations, body);
    reader.whole(JSON.stringify({ data: [{ b64_json: "AAAA" }, { b64_json: "BBBB" }], usage }), "");
    const outcome = reader.outcome(whole)!;
    assert.equal(outcome.basis, "estimated");
    // 1536 × 1024 at low quality, twice.
    assert.deepEqual(outcome.usage.output, 850);
    assert.equal(outcome.usage.imageOutput, 850);
    assert.ok(outcome.usage.input > 3);
  });
}

Deno.test("with a price by the picture the answer itself says what it came to", () => {
  const reader = readerOf(imageGenerations, { model: "dall-e-3", prompt: "x", size: "1792x1024" });
  reader.whole(JSON.stringify({ data: [{ url: "https://x/1" }] }), "");
  const price = priceOf({ perImage: { "1792x1024": 80_000_000n } } as never);
  const { usage, basis } = reader.outcome({ isComplete: true, price })!;
  assert.equal(basis, "reported");
  const images = [{ size: "1792x1024", quality: "standard", count: 1 }];
  assert.deepEqual(usage, { input: 0, output: 0, images });
});

Deno.test("DALL·E 3 draws at standard quality unless another one is asked for", () => {
  const perImage = { "hd/1024x1024": 80_000_000n, "standard/1024x1024": 40_000_000n };
  const price = priceOf({ perImage } as never);
  const costs = [{}, { quality: "auto" }, { quality: "standard" }, { quality: "hd" }].map(
    (asked) => {
      const reader = readerOf(imageGenerations, {
        model: "openai/dall-e-3",
        prompt: "x",
        ...asked,
      });
      reader.whole(JSON.stringify({ data: [{ url: "https://x/1" }] }), "");
      return costOf(reader.outcome({ isComplete: true, price })!.usage, price).pico;
    },
  );
  assert.deepEqual(costs, [40_000_000n, 40_000_000n, 40_000_000n, 80_000_000n]);
});

Deno.test("what the answer says of size and quality counts before what was asked, but for auto", () => {
  const reader = readerOf(imageGenerations, { ...body, size: "auto", quality: "high" });
  reader.whole(JSON.stringify({ data: [{}], size: "1024x1536", quality: "auto" }), "");
  const { usage } = reader.outcome(whole)!;
  assert.deepEqual(usage.images, [{ size: "1024x1536", quality: "high", count: 1 }]);
});

const noAnswers = [
  "",
  "null",
  "[]",
  "<html>",
  "{}",
  '{"data":null}',
  '{"data":{}}',
  '{"error":{}}',
];
for (const text of noAnswers) {
  Deno.test(`'${text}' is no answer`, () => {
    const reader = readerOf(imageGenerations, body);
    assert.throws(() => reader.whole(text, ""), isFault("upstream_invalid_response"));
    assert.equal(reader.outcome(whole), undefined);
  });
}

Deno.test("pictures that are all withheld are a refusal, some of them are not", () => {
  const withheld = { respect_moderation: false };
  const reader = readerOf(imageGenerations, body);
  const text = JSON.stringify({ data: [withheld, withheld] });
  assert.throws(() => reader.whole(text, ""), isFault("content_policy_violation"));
  const partly = readerOf(imageGenerations, body);
  partly.whole(JSON.stringify({ data: [withheld, { b64_json: "AAAA" }] }), "");
  assert.ok(partly.outcome(whole));
});

Deno.test("an answer that was cut costs nothing, since none was given", () => {
  const reader = readerOf(imageGenerations, body);
  reader.whole('{"data":[{"b64_json":"AAAA"}]}', "");
  assert.equal(reader.outcome({ isComplete: false, price: undefined }), undefined);
});

Deno.test("a stream ends with as many pictures as were asked for; its record is one answer", () => {
  const reader = readerOf(imageGenerations, { ...body, stream: true, n: 2 });
  const partial = { type: "image_generation.partial_image", b64_json: "AAAA" };
  const completed = {
    type: "image_generation.completed",
    ...{ b64_json: "BBBB", created_at: 7, size: "1024x1024", quality: "low" },
    usage: { input_tokens: 5, output_tokens: 272 },
  };
  assert.deepEqual(reader.event(eventOf(partial)), {});
  const news = [completed, { ...completed, b64_json: "CCCC" }]
    .map((event) => reader.event(eventOf(event)));
  assert.deepEqual(news, [{ isLast: false, isComplete: true }, { isLast: true, isComplete: true }]);
  const { recordText, basis } = reader.outcome(whole)!;
  assert.equal(basis, "reported");
  assert.deepEqual(JSON.parse(recordText!), {
    created: 7,
    ...{ size: "1024x1024", quality: "low", usage: completed.usage },
    data: [{ b64_json: "BBBB" }, { b64_json: "CCCC" }],
  });
});

Deno.test("a stream that ends before its picture costs the partial ones that it showed", () => {
  const reader = readerOf(imageGenerations, { ...body, stream: true });
  assert.equal(reader.outcome(whole), undefined);
  reader.event(eventOf({ type: "image_generation.partial_image", b64_json: "AAAA" }));
  const { usage, basis } = reader.outcome({ isComplete: false, price: undefined })!;
  assert.deepEqual([usage.output, usage.imageOutput, basis], [100, 100, "estimated"]);
});

Deno.test("a stream that breaks off before its second picture costs that one's partial ones, too", () => {
  const partial = { type: "image_generation.partial_image", b64_json: "AAAA" };
  const completed = {
    ...{ type: "image_generation.completed", b64_json: "BBBB" },
    usage: { input_tokens: 5, output_tokens: 472 },
  };
  const outcomeOf = (events: readonly object[], price?: AnswerEnding["price"]) => {
    const reader = readerOf(imageGenerations, { ...body, stream: true, n: 2 });
    for (const event of events) reader.event(eventOf(event));
    const { usage, basis } = reader.outcome({ isComplete: false, price })!;
    return [usage.output, usage.imageOutput, basis];
  };
  const first = [partial, partial, completed];
  assert.deepEqual(outcomeOf(first), [472, 472, "reported"]);
  assert.deepEqual(outcomeOf([...first, partial, partial]), [672, 672, "estimated"]);
  const perImage = priceOf({ perImage: 1n } as never);
  assert.deepEqual(outcomeOf([...first, partial], perImage), [472, 472, "reported"]);
});

Deno.test("errors among events are reported, in each of their forms; garbage is skipped", () => {
  const reader = readerOf(imageGenerations, { ...body, stream: true });
  const said = { error: { message: "Blocked.", code: "moderation_blocked" } };
  const { error } = reader.event(eventOf({ type: "error", ...said }));
  assert.deepEqual([error!.message, error!.code], ["Blocked.", "moderation_blocked"]);
  assert.ok(reader.event(eventOf({ object: "error", message: "Out of memory" })).error);
  for (const data of ["", "null", "[1]", "not json", '{"type":7}']) {
    assert.deepEqual(reader.event(eventOf(data)), {});
  }
  assert.deepEqual(reader.event(eventOf("[DONE]")), { isLast: true });
});

Deno.test("bytes are no answer", () => {
  const reader = readerOf(imageGenerations, body);
  const piece = new Uint8Array(3);
  assert.throws(() => reader.bytes(piece, "image/png"), isFault("upstream_invalid_response"));
});

Deno.test("the bound counts every picture at the size and quality asked for, else the dearest", () => {
  const bound = (fields: Record<string, unknown>) => {
    const sent = { ...body, ...fields };
    return boundOfRequest(imageGenerations, {
      ...{ sent: { body: sent, text: JSON.stringify(sent) }, fields: sent, files: [] },
      ...{ model: "m", stream: false, endUser: undefined, tags: {}, tagUnits: 0 },
    });
  };
  assert.equal(bound({}).maxOutputTokens, 425);
  assert.equal(bound({ quality: "auto" }).maxOutputTokens, 6292);
  assert.equal(bound({ quality: "high", size: "1024x1024" }).maxOutputTokens, 4195);
  assert.equal(bound({ n: 4 }).choices, 4);
  assert.equal(bound({ partial_images: 3 }).maxOutputTokens, 725);
  // A GIF has nine frames unless the request says how many.
  assert.equal(bound({ output_format: "gif" }).maxOutputTokens, 9 * 425);
  assert.equal(bound({ output_format: "gif", frame_count: 16 }).maxOutputTokens, 16 * 425);
  const pictures = ["https://a.example/1", { image_url: "https://a.example/2" }];
  const more = bound({ images: pictures, mask: { url: "https://a.example/3" } });
  assert.ok(more.inputTokens > 3 * 16_384, `${more.inputTokens}`);
  // An unknown quality is held as `high`, a size that no vendor draws as the default one.
  for (const quality of ["constructor", "__proto__", "odd"]) {
    assert.equal(bound({ quality }).maxOutputTokens, 6292, quality);
  }
  assert.equal(bound({ quality: "high", size: `${"9".repeat(400)}x1` }).maxOutputTokens, 6292);
  // Rubbish is the vendor's to refuse.
  for (const n of [null, -1, "many", 1.5, {}]) assert.equal(bound({ n }).choices, 1);
});

function isFault(code: string) {
  return (thrown: unknown) => thrown instanceof Fault && thrown.code === code;
}

Deno.test("a report without a picture's tokens is none, nor is a cost that isn't believed", () => {
  const priced = { isComplete: true, price: priceOf({ output: 30_000_000n } as never) };
  const outcome = (usage: unknown, ending: AnswerEnding) => {
    const reader = readerOf(imageGenerations, body);
    reader.whole(JSON.stringify({ data: [{ b64_json: "AAAA" }], usage }), "application/json");
    const { usage: { output }, basis } = reader.outcome(ending)!;
    return [basis, output > 0];
  };
  const none = { input_tokens: 0, output_tokens: 0 };
  assert.deepEqual(outcome(none, priced), ["estimated", true]);
  assert.deepEqual(outcome({ cost: 0.04 }, { ...priced, ignoresCost: true }), ["estimated", true]);
  assert.deepEqual(outcome({ cost: 0.04 }, priced), ["reported", false]);
  assert.deepEqual(outcome({ cost: -0.04 }, priced), ["estimated", true]);
});

Deno.test("a GIF without a usage is estimated with its frames", () => {
  const outputOf = (fields: Record<string, unknown>) => {
    const reader = readerOf(imageGenerations, { ...body, ...fields });
    reader.whole(JSON.stringify({ data: [{ b64_json: "AAAA" }] }), "application/json");
    return reader.outcome({ isComplete: true, price: undefined })!.usage.output;
  };
  assert.equal(outputOf({ output_format: "gif" }), 9 * outputOf({}));
});

Deno.test("of a half report of pictures, the other half is estimated", () => {
  const price = priceOf({ input: 5_000_000n, output: 40_000_000n } as never);
  const billed = (usage: unknown, pictures = 1) => {
    const reader = readerOf(imageGenerations, body);
    const data = Array(pictures).fill({ b64_json: "AAAA" });
    reader.whole(JSON.stringify({ data, usage }), "");
    const outcome = reader.outcome({ isComplete: true, price })!;
    const { usage: { input, output, imageOutput }, basis } = outcome;
    return { input, output, imageOutput, basis };
  };
  const silent = billed(undefined);
  assert.deepEqual([silent.input > 3, silent.output > 100], [true, true]);
  for (const missing of [undefined, null]) {
    const noInput = { input_tokens: missing, output_tokens: 272 };
    assert.deepEqual(billed(noInput), { ...silent, output: 272, imageOutput: 272 });
    const noOutput = { input_tokens: 70, output_tokens: missing };
    assert.deepEqual(billed(noOutput), { ...silent, input: 70 });
    assert.deepEqual(billed(noOutput, 0), {
      ...{ input: 70, output: 0, imageOutput: 0, basis: "reported" },
    });
    assert.deepEqual(billed({ ...noInput, output_tokens: 0 }), silent, "nor is 0 a report");
  }
});
