import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { mediaToolsAreThere, openPicture } from "../support/media_tools.ts";
import { flatPrices } from "../support/money.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { generateImage, type ImageAnswer, imagesOf } from "../support/media_calls.ts";

const ownPrice = "grok-imagine-image-quality";
const service = shared(async () =>
  startSimulatedService({
    PRICES_FILE: await flatPrices("0.01", `xai/${ownPrice}`, { per_image: "0.07" }),
  }, { database: "any" })
);
const ignore = !mediaToolsAreThere();

/** Provider, further fields, and the size and format that come of them. */
const whole: readonly [string, Record<string, unknown>, number, number, string][] = [
  ["vendor-a", { aspect_ratio: "16:9" }, 1360, 768, "PNG"],
  ["vendor-a", { model: "stabilityai/stable-diffusion-3.5-large" }, 1024, 1024, "PNG"],
  ["openai", { size: "1536x1024" }, 1536, 1024, "PNG"],
  ["vendor-b", { model: "dall-e-3", aspect_ratio: "9:16", quality: "high" }, 1024, 1792, "PNG"],
  ["vendor-b", { output_format: "webp" }, 1024, 1024, "WEBP"],
  ["vendor-b", { output_format: "jpeg", output_compression: 70 }, 1024, 1024, "JPEG"],
  ["vendor-d", { aspect_ratio: "21:9" }, 1568, 672, "PNG"],
  ["google", { model: "gemini-3-pro-image-preview", resolution: "2K" }, 2048, 2048, "PNG"],
  ["vendor-d", { model: "imagen-4.0-generate-001", size: "1280x720" }, 1368, 768, "PNG"],
  ["vendor-d", { model: "imagen-4.0-generate-001", output_format: "jpeg" }, 1024, 1024, "JPEG"],
  ["gemini", {}, 1024, 1024, "PNG"],
  ["vendor-f", { size: "800x600", output_format: "webp" }, 800, 600, "WEBP"],
  ["openrouter", { model: "google/gemini-2.5-flash-image", seed: 7 }, 1024, 1024, "PNG"],
  ["xai", { aspect_ratio: "2:1", resolution: "2K" }, 2896, 1448, "JPEG"],
];

for (const [provider, fields, width, height, format] of whole) {
  Deno.test({
    name: `a picture of ${provider} opens: ${JSON.stringify(fields)}`,
    // Vendor and models without an account of ours have no price: nobody is charged by guess.
    ignore,
    async fn() {
      const own = fields.model === "stabilityai/stable-diffusion-3.5-large";
      const answer = own
        ? await generateImage(service(), { provider, prompt: "A lighthouse", ...fields }, {
          authorization: `Bearer ${service().key};hf_simulatedVendorA0000`,
        })
        : await generateImage(service(), { provider, prompt: "A lighthouse", ...fields });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const [image] = imagesOf(answer);
      const report = await openPicture(Buffer.from(image!.b64_json!, "base64"));
      assert.deepEqual([report.format, report.width, report.height], [format, width, height]);
      assert.equal(image!.mime_type, `image/${format.toLowerCase()}`);
      assert.deepEqual([image!.width, image!.height], [width, height]);
      if (!own) assert(Number(answer.body.cost_usd) > 0);
    },
  });
}

Deno.test("more pictures than a vendor makes at once are several calls and one interaction", async () => {
  const cases = [
    [{ provider: "vendor-d" }, 3, ":generateContent"],
    [{ provider: "vendor-d", model: "imagen-4.0-generate-001" }, 2, ":predict"],
    [{ provider: "vendor-b", model: "dall-e-3" }, 3, "/images/generations"],
  ] as const;
  for (const [fields, calls, path] of cases) {
    const n = calls === 2 ? 6 : calls;
    const label = fields.provider;
    const before = service().simulators.requests(label).length;
    const answer = await generateImage(service(), { ...fields, prompt: "Three boats", n });
    assert.equal(imagesOf(answer).length, n);
    assert.deepEqual(imagesOf(answer).map(({ index }) => index), [...Array(n).keys()]);
    const sent = service().simulators.requests(label).slice(before);
    assert.equal(sent.length, calls);
    assert(sent.every((one) => one.path.endsWith(path)));
    const row = await service().row(answer.transaction);
    assert.equal(row.cost_usd, answer.body.cost_usd);
    assert.equal(row.charged_usd, answer.body.cost_usd);
  }
});

Deno.test("withheld pictures are counted, and only those made are charged", async () => {
  const answer = await generateImage(service(), {
    provider: "vendor-d",
    model: "imagen-4.0-generate-001",
    prompt: "Five boats [filter:1]",
    n: 5,
  });
  // Each of the two calls withholds one.
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(imagesOf(answer).length, 3);
  assert.equal(answer.body.filtered_count, 2);
  assert.equal(answer.body.cost_usd, "0.120000000");
});

Deno.test("the rest is returned where one of several calls fails", async () => {
  const answer = await generateImage(service(), {
    provider: "vendor-d",
    prompt: "Two boats [error:400x1]",
    n: 2,
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(imagesOf(answer).length, 1);
  assert.equal(answer.body.filtered_count, 1);
});

const refusals: readonly Record<string, unknown>[] = [
  { provider: "vendor-a" },
  { provider: "vendor-b" },
  { provider: "vendor-d" },
  { provider: "vendor-d", prompt: "[refuse:prompt]" },
  { provider: "vendor-d", model: "imagen-4.0-generate-001", n: 4 },
  { provider: "vendor-f" },
  { provider: "vendor-g" },
];

for (const fields of refusals) {
  Deno.test(`a safety refusal says why and costs nothing: ${JSON.stringify(fields)}`, async () => {
    const answer = await generateImage(service(), { prompt: "Something [refuse]", ...fields });
    assert.equal(answer.status, 400);
    const { type, code, message } = answer.body.error!;
    assert.deepEqual([type, code], ["invalid_request_error", "content_policy_violation"]);
    assert(message.length > 20);
    const row = await service().row(answer.transaction);
    assert.equal(row.charged_usd, "0.000000000");
    assert.equal(row.error_code, "content_policy_violation");
  });
}

Deno.test("a picture of xAI's costs what it reports, unless the operator has a price", async () => {
  for (
    const [model, basis, cost] of [
      ["grok-imagine-image", "vendor_cost", "0.020000000"],
      [ownPrice, "reported", "0.080000000"],
    ]
  ) {
    const answer = await generateImage(service(), { provider: "xai", model, prompt: "A boat" });
    const row = await service().row(answer.transaction);
    assert.deepEqual([row.billing_basis, row.charged_usd], [basis, cost]);
    assert.equal(answer.body.cost_usd, cost);
  }
});

Deno.test("reference pictures reach every vendor that changes them", async () => {
  const [first] = imagesOf(
    await generateImage(service(), { provider: "vendor-b", prompt: "A boat" }),
  );
  const images = [`data:image/png;base64,${first!.b64_json}`];
  for (const provider of ["vendor-b", "vendor-d", "vendor-f", "vendor-g"]) {
    const answer = await generateImage(service(), { provider, prompt: "By night", images });
    assert.equal(answer.status, 200, `${provider}: ${JSON.stringify(answer.body)}`);
    const row = await service().row(answer.transaction);
    assert(JSON.stringify(row.request).length > 100);
    const reports = ["vendor-f", "vendor-g"].includes(provider);
    assert.equal(row.billing_basis, reports ? "vendor_cost" : "reported", provider);
  }
});

Deno.test("a stream has the vendor's events, and its record the picture and its cost", async () => {
  const response = await service().post("/imagen/v1/generate", {
    model: "vendor-b/gpt-image-1.5",
    prompt: "A lighthouse",
    stream: true,
    partial_images: 2,
  });
  assert.equal(response.headers.get("content-type")?.split(";")[0], "text/event-stream");
  const types = [...(await response.text()).matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
  assert.deepEqual(types, [
    "image_generation.partial_image",
    "image_generation.partial_image",
    "image_generation.completed",
  ]);
  const row = await service().row(response.headers.get("x-transaction-id"));
  assert.equal(row.status, "completed");
  assert.equal(row.stream, true);
  const answer = row.response as ImageAnswer;
  assert.equal(answer.data![0]!.width, 1024);
  assert.equal(row.cost_usd, answer.cost_usd);
});

Deno.test("a stream that is cut ends with an error event and is charged for what there was", async () => {
  const response = await service().post("/imagen/v1/generate", {
    model: "vendor-b/gpt-image-1.5",
    prompt: "A lighthouse [cut:clean]",
    stream: true,
    partial_images: 3,
  });
  const text = await response.text();
  assert(text.includes("upstream_stream_truncated"), text.slice(-300));
  const row = await service().row(response.headers.get("x-transaction-id"));
  assert.equal(row.status, "truncated");
  assert.equal(row.billing_basis, "estimated");
});
