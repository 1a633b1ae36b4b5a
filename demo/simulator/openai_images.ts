/** `POST /images/generations` and `/images/edits`, as vendor-b and compatible vendors have them. */
import { readBehaviours } from "./behaviours.ts";
import { admit, bodyOf, type Exchange, formOf } from "./exchange.ts";
import { asNumber, asText, compact, type JsonObject, objectsIn } from "./json.ts";
import { invalid, require } from "./openai_problems.ts";
import { Problem } from "./problem.ts";
import { type Rule } from "./rules.ts";
import { mediumFromUrl, toBase64 } from "./media.ts";
import { picture, type PictureFormat } from "./samples/mod.ts";
import { eventStream } from "./event_stream.ts";
import { unixSeconds } from "./timing.ts";
import { countTokens } from "./tokens.ts";

const FIELDS: Readonly<Record<string, Rule>> = {
  model: { is: "string", required: true },
  prompt: { is: "string", required: true },
  n: { is: "integer", min: 1, max: 10, nullable: true },
  size: { is: "string", nullable: true },
  quality: { is: "string", nullable: true },
  background: { is: "string", nullable: true, oneOf: ["transparent", "opaque", "auto"] },
  moderation: { is: "string", nullable: true, oneOf: ["low", "auto"] },
  output_format: { is: "string", nullable: true, oneOf: ["png", "jpeg", "webp"] },
  output_compression: { is: "integer", min: 0, max: 100, nullable: true },
  partial_images: { is: "integer", min: 0, max: 3, nullable: true },
  response_format: { is: "string", nullable: true, oneOf: ["url", "b64_json"] },
  stream: { is: "boolean", nullable: true },
  style: { is: "string", nullable: true, oneOf: ["vivid", "natural"] },
  user: { is: "string" },
  safety_identifier: { is: "string", nullable: true },
};

const SIZES: Readonly<Record<string, readonly string[]>> = {
  "dall-e-2": ["256x256", "512x512", "1024x1024"],
  "dall-e-3": ["1024x1024", "1792x1024", "1024x1792"],
};
const GPT_SIZES = ["auto", "1024x1024", "1536x1024", "1024x1536"];

interface ImageRequest {
  body: JsonObject;
  kind: "image_generation" | "image_edit";
  given: number;
}

export async function imageGenerations(exchange: Exchange): Promise<Response> {
  const body = require(bodyOf(exchange), FIELDS, "", true);
  return await draw(exchange, { body, kind: "image_generation", given: 0 });
}

export async function imageEdits(exchange: Exchange): Promise<Response> {
  if (/\bjson\b/.test(exchange.headers.get("content-type") ?? "")) {
    return await editsOfJson(exchange);
  }
  const form = await formOf(exchange);
  const numbers = ["n", "output_compression", "partial_images"];
  const body: JsonObject = {};
  let given = 0;
  for (const [name, value] of form) {
    if (value instanceof File) {
      if (/^image(\[\])?$/.test(name)) given++;
      else if (name !== "mask") {
        throw invalid(name, "unknown_parameter", `Unknown parameter: '${name}'.`);
      }
      await requirePicture(name, value);
    } else if (name === "stream") body.stream = value === "true";
    else if (name !== "input_fidelity") body[name] = numbers.includes(name) ? Number(value) : value;
  }
  if (given === 0) {
    throw invalid("image", "missing_required_parameter", "Missing required parameter: 'image'.");
  }
  require(body, FIELDS, "", true);
  return await draw(exchange, { body, kind: "image_edit", given });
}

/** Reads the JSON form of an edit: pictures are addresses, data URLs or ids of files. */
async function editsOfJson(exchange: Exchange): Promise<Response> {
  const { images, mask, input_fidelity: _, ...body } = bodyOf(exchange);
  const given = objectsIn(images);
  if (given.length === 0) {
    throw invalid("images", "missing_required_parameter", "Missing required parameter: 'images'.");
  }
  for (const picture of [...given, ...objectsIn([mask])]) {
    const url = asText(picture.image_url);
    if (url !== "") readPicture(url);
    else if (asText(picture.file_id) === "") {
      throw invalid("images", "invalid_value", "Expected one of image_url and file_id.");
    }
  }
  require(body, FIELDS, "", true);
  return await draw(exchange, { body, kind: "image_edit", given: given.length });
}

function readPicture(url: string): void {
  try {
    mediumFromUrl(url);
  } catch {
    throw invalid("images", "invalid_image_file", "Invalid image file or mode for image 1.");
  }
}

async function requirePicture(name: string, file: File): Promise<void> {
  const head = String.fromCharCode(...await file.slice(0, 12).bytes());
  if (/^(\x89PNG|\xff\xd8\xff|RIFF....WEBP)/s.test(head)) return;
  throw invalid(
    name,
    "invalid_image_file",
    "Invalid image file or mode for image 1, please check your image file.",
  );
}

async function draw(exchange: Exchange, request: ImageRequest): Promise<Response> {
  const { body } = request;
  const [model, prompt] = [asText(body.model), asText(body.prompt)];
  const behaviours = readBehaviours(prompt, exchange.state.label);
  checkModel(model, body);
  await admit(exchange, behaviours, prompt);
  if (behaviours.refusal !== null) {
    throw new Problem(400, "Your request was rejected by the safety system.", {
      code: "moderation_blocked",
    });
  }
  const isGpt = model.startsWith("gpt-image");
  const asked = asText(body.size, "auto");
  const size = asked === "auto" ? "1024x1024" : asked;
  const [width = 1024, height = 1024] = size.split("x").map(Number);
  const count = asNumber(body.n) ?? 1;
  const format = asText(body.output_format, "png") as PictureFormat;
  const isTransparent = body.background === "transparent";
  const file = (index: number) =>
    toBase64(picture({
      format,
      width,
      height,
      subject: `${prompt}:${index}`,
      isTransparent,
      minBytes: behaviours.minBytes,
    }));
  const quality = ["low", "medium", "high"].find((one) => one === body.quality) ?? "medium";
  const facts = {
    background: isTransparent ? "transparent" : "opaque",
    output_format: format,
    quality,
    size,
  };
  const usage = usageOf(prompt, { count, quality, width, height, given: request.given });
  if (isGpt && body.stream === true) {
    const partials = asNumber(body.partial_images) ?? 0;
    const events = [
      ...Array.from({ length: partials }, (_, index) => ({
        type: `${request.kind}.partial_image`,
        b64_json: toBase64(
          picture({ format, width: width / 4, height: height / 4, subject: `${index}` }),
        ),
        partial_image_index: index,
        created_at: unixSeconds(),
        ...facts,
      })),
      {
        type: `${request.kind}.completed`,
        b64_json: file(0),
        created_at: unixSeconds(),
        ...facts,
        usage,
      },
    ];
    return eventStream(exchange, behaviours, events);
  }
  const data = Array.from({ length: count }, (_, index) =>
    compact({
      ...(!isGpt && body.response_format !== "b64_json"
        ? { url: `https://images.invalid/${exchange.state.nextId("img-")}.png` }
        : { b64_json: file(index) }),
      revised_prompt: model === "dall-e-3" ? `${prompt}, in detail` : undefined,
    }));
  return Response.json({ created: unixSeconds(), ...(isGpt ? { ...facts, usage } : {}), data });
}

function checkModel(model: string, body: JsonObject): void {
  const isGpt = model.startsWith("gpt-image");
  if (!isGpt && SIZES[model] === undefined) {
    throw new Problem(404, `The model '${model}' does not exist.`, {
      code: "model_not_found",
      param: "model",
    });
  }
  // These models always answer in base64, and refuse the parameter.
  if (isGpt && body.response_format !== undefined) {
    throw invalid("response_format", "unknown_parameter", "Unknown parameter: 'response_format'.");
  }
  const sizes = SIZES[model] ?? (model.startsWith("gpt-image-2") ? undefined : GPT_SIZES);
  const size = asText(body.size, "1024x1024");
  if (sizes ? !sizes.includes(size) : !/^(auto|\d+x\d+)$/.test(size)) {
    const values = (sizes ?? GPT_SIZES).map((one) => `'${one}'`).join(", ");
    throw invalid(
      "size",
      "invalid_value",
      `Invalid value: '${size}'. Supported values are: ${values}.`,
    );
  }
  if (model === "dall-e-3" && asNumber(body.n) !== null && asNumber(body.n) !== 1) {
    throw invalid("n", "invalid_value", "You must provide n=1 for this model.");
  }
}

function usageOf(
  prompt: string,
  { count, quality, width, height, given }: {
    count: number;
    quality: string;
    width: number;
    height: number;
    given: number;
  },
): JsonObject {
  const perPixel = { low: 0.000_26, medium: 0.001_007, high: 0.003_967 }[quality] ?? 0.001_007;
  const text = countTokens(prompt);
  const image = given * 323;
  const output = count * Math.round(width * height * perPixel);
  return {
    input_tokens: text + image,
    input_tokens_details: { text_tokens: text, image_tokens: image },
    output_tokens: output,
    output_tokens_details: { text_tokens: 0, image_tokens: output },
    total_tokens: text + image + output,
  };
}
