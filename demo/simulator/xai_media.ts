/** The media endpoints of vendor-g: pictures by ratio instead of size, and speech by codec. */
import { answerFile, answerWhole } from "./answers.ts";
import { readBehaviours, withoutMagicWords } from "./behaviours.ts";
import { admit, bodyOf, type Exchange } from "./exchange.ts";
import { draw, formatOf, pixelsOf } from "./generate_draw.ts";
import { asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { mediumFromUrl } from "./media.ts";
import { require } from "./openai_problems.ts";
import { Problem } from "./problem.ts";
import { type Rules } from "./rules.ts";
import { type SoundFormat } from "./samples/mod.ts";
import { secondsToSay, sound } from "./samples/mod.ts";
import { type Route } from "./server.ts";

export const XAI_PICTURE_MODELS = ["grok-imagine-image", "grok-imagine-image-quality"];
const RATIOS = ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "2:1", "1:2", "19.5:9"]
  .concat(["9:19.5", "20:9", "9:20", "auto"]);

const PICTURES: Rules = {
  model: { is: "string", required: true },
  prompt: { is: "string", required: true },
  n: { is: "integer", min: 1, max: 10 },
  response_format: { is: "string", oneOf: ["url", "b64_json"] },
  aspect_ratio: { is: "string", oneOf: RATIOS },
  resolution: { is: "string", oneOf: ["1k", "2k"] },
  quality: { is: "string", oneOf: ["low", "medium", "high"] },
  output_format: { is: "string", oneOf: ["png", "jpeg", "webp"] },
  user: { is: "string" },
};
const EDITS: Rules = { ...PICTURES, image: { is: "object" }, images: { is: "array" } };

const TICKS_PER_USD = 1e10;

async function pictures(exchange: Exchange, rules: Rules): Promise<Response> {
  const body = require(bodyOf(exchange), rules, "", true);
  if (!XAI_PICTURE_MODELS.includes(asText(body.model))) {
    throw new Problem(404, `The model ${body.model} does not exist.`, { code: "model_not_found" });
  }
  const given = [...objectsIn([body.image]), ...objectsIn(body.images)];
  if (rules === EDITS && given.length === 0) throw new Problem(400, "An image is required.");
  given.forEach(readPicture);
  const prompt = asText(body.prompt);
  const behaviours = readBehaviours(prompt, exchange.state.label);
  await admit(exchange, behaviours, prompt);
  const count = asNumber(body.n) ?? 1;
  const size = pixelsOf(asText(body.aspect_ratio, "1:1"), asText(body.resolution, "1k"));
  const format = formatOf(asText(body.output_format, "jpeg"));
  const data = Array.from({ length: count }, (_, index): JsonObject => {
    if (index >= count - behaviours.filtered) return { respect_moderation: false };
    const b64_json = draw(prompt, index, size, format, behaviours);
    return { b64_json, revised_prompt: `A picture of ${withoutMagicWords(prompt)}.` };
  });
  const usage = { cost_in_usd_ticks: count * 0.02 * TICKS_PER_USD };
  return answerWhole(exchange, behaviours, { data, usage });
}

function readPicture(picture: JsonObject): void {
  if (picture.type !== "image_url") throw new Problem(400, "image.type: expected image_url.");
  try {
    mediumFromUrl(asText(picture.url));
  } catch {
    throw new Problem(400, "image.url: not an image.");
  }
}

const VOICES = ["eve", "ara", "leo", "rex", "sal"];
const SPEECH: Rules = {
  text: { is: "string", required: true },
  voice_id: { is: "string" },
  language: { is: "string", required: true },
  output_format: { is: "object" },
  speed: { is: "number", min: 0.7, max: 1.5 },
  optimize_streaming_latency: { is: "integer" },
  text_normalization: { is: "boolean" },
  with_timestamps: { is: "boolean" },
  replace: { is: "object" },
};
const CODECS: Readonly<Record<string, { format: SoundFormat; type: string }>> = {
  mp3: { format: "mp3", type: "audio/mpeg" },
  wav: { format: "wav", type: "audio/wav" },
  pcm: { format: "pcm", type: "audio/pcm" },
};

async function speech(exchange: Exchange): Promise<Response> {
  const body = require(bodyOf(exchange), SPEECH, "", true);
  const voice = asText(body.voice_id, "eve");
  if (!VOICES.includes(voice)) {
    throw new Problem(400, `Voice '${voice}' not found. Available voices: ${VOICES.join(", ")}`);
  }
  const codec = CODECS[asText(asObject(body.output_format)?.codec, "mp3")];
  if (!codec) throw new Problem(400, "output_format.codec: expected mp3, wav or pcm.");
  const text = asText(body.text);
  const behaviours = readBehaviours(text, exchange.state.label);
  await admit(exchange, behaviours, text);
  if (behaviours.refusal !== null) {
    throw new Problem(400, "The text was blocked by content moderation.", {
      code: "content_policy_violation",
    });
  }
  const said = withoutMagicWords(text);
  const seconds = secondsToSay(said) / (asNumber(body.speed) ?? 1);
  const file = sound(codec.format, seconds, said);
  return answerFile(exchange, behaviours, file, codec.type);
}

/** The routes for media, in addition to chat. */
export const XAI_MEDIA: readonly Route[] = [
  {
    method: "POST",
    path: /^\/images\/generations$/,
    handle: (exchange) => pictures(exchange, PICTURES),
  },
  { method: "POST", path: /^\/images\/edits$/, handle: (exchange) => pictures(exchange, EDITS) },
  { method: "POST", path: /^\/tts$/, handle: speech },
];
