/** The aggregator's picture endpoint, which has a form of its own, and its speech endpoint. */
import { answerFile, answerWhole } from "./answers.ts";
import { readBehaviours, withoutMagicWords } from "./behaviours.ts";
import { admit, bodyOf, type Exchange } from "./exchange.ts";
import { draw, formatOf, pixelsOf } from "./generate_draw.ts";
import { asNumber, asObject, asText, objectsIn } from "./json.ts";
import { mediumFromUrl } from "./media.ts";
import { require } from "./openai_problems.ts";
import { Problem } from "./problem.ts";
import { type Rules } from "./rules.ts";
import { secondsToSay, sound } from "./samples/mod.ts";
import { type Route } from "./server.ts";
import { countPromptTokens } from "./tokens.ts";

const QUALITIES = ["auto", "low", "medium", "high", "max"];
const PICTURES: Rules = {
  model: { is: "string", required: true },
  prompt: { is: "string", required: true },
  n: { is: "integer", min: 1, max: 10 },
  size: { is: "string" },
  aspect_ratio: { is: "string" },
  resolution: { is: "string", oneOf: ["512", "1K", "2K", "4K"] },
  quality: { is: "string", oneOf: QUALITIES },
  background: { is: "string", oneOf: ["auto", "transparent", "opaque"] },
  output_format: { is: "string", oneOf: ["png", "jpeg", "webp", "svg"] },
  output_compression: { is: "integer", min: 0, max: 100 },
  seed: { is: "integer" },
  input_references: { is: "array" },
  provider: { is: "object" },
  stream: { is: "boolean" },
  user: { is: "string" },
};
const USD_PER_PICTURE = 0.04;

async function pictures(exchange: Exchange): Promise<Response> {
  const body = require(bodyOf(exchange), PICTURES, "", true);
  const model = asText(body.model);
  if (!model.includes("/")) throw unknown(model);
  const pixels = /^(\d+)x(\d+)$/.exec(asText(body.size));
  if (pixels && (body.resolution !== undefined || body.aspect_ratio !== undefined)) {
    throw new Problem(400, "size conflicts with resolution or aspect_ratio.");
  }
  if (pixels && (Number(pixels[1]) > 8192 || Number(pixels[2]) > 8192)) {
    throw new Problem(400, "size: at most 8192x8192.");
  }
  for (const reference of objectsIn(body.input_references)) {
    mediumFromUrl(asText(asObject(reference.image_url)?.url));
  }
  const prompt = asText(body.prompt);
  const behaviours = readBehaviours(prompt, exchange.state.label);
  await admit(exchange, behaviours, prompt);
  const count = asNumber(body.n) ?? 1;
  const made = Math.max(0, count - behaviours.filtered);
  if (made === 0) {
    throw new Problem(403, "The prompt was flagged by the provider's content moderation.", {
      code: "content_policy_violation",
    });
  }
  const size = pixels
    ? { width: Number(pixels[1]), height: Number(pixels[2]) }
    : pixelsOf(asText(body.aspect_ratio, "1:1"), asText(body.resolution, "1K"));
  const format = formatOf(asText(body.output_format, "png"));
  const input = countPromptTokens([prompt, body.input_references]);
  return answerWhole(exchange, behaviours, {
    created: 1_767_225_600,
    data: Array.from({ length: made }, (_, index) => ({
      b64_json: draw(prompt, index, size, format, behaviours),
      media_type: `image/${format}`,
    })),
    usage: {
      prompt_tokens: input,
      completion_tokens: made * 1290,
      total_tokens: input + made * 1290,
      cost: Number((made * USD_PER_PICTURE).toFixed(6)),
    },
  });
}

const SPEECH: Rules = {
  model: { is: "string", required: true },
  input: { is: "string", required: true },
  voice: { is: "string" },
  response_format: { is: "string", oneOf: ["mp3", "pcm"] },
  speed: { is: "number", min: 0.25, max: 4 },
  provider: { is: "object" },
  input_references: { is: "array" },
};

async function speech(exchange: Exchange): Promise<Response> {
  const body = require(bodyOf(exchange), SPEECH, "", true);
  if (!asText(body.model).includes("/")) throw unknown(asText(body.model));
  const text = asText(body.input);
  const behaviours = readBehaviours(text, exchange.state.label);
  await admit(exchange, behaviours, text);
  const said = withoutMagicWords(text);
  const seconds = secondsToSay(said) / (asNumber(body.speed) ?? 1);
  const isRaw = asText(body.response_format, "pcm") === "pcm";
  const file = sound(isRaw ? "pcm" : "mp3", seconds, said);
  return answerFile(exchange, behaviours, file, isRaw ? "audio/pcm" : "audio/mpeg");
}

function unknown(model: string): Problem {
  return new Problem(400, `${model} is not a valid model ID`);
}

/** The routes for media, in addition to chat. */
export const AGGREGATOR_MEDIA: readonly Route[] = [
  { method: "POST", path: /^\/images$/, handle: pictures },
  { method: "POST", path: /^\/audio\/speech$/, handle: speech },
];
