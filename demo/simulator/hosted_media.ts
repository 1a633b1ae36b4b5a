/** Pictures of hosted open models: most answer with the usual list, some with the file itself. */
import { answerFile, answerWhole } from "./answers.ts";
import { readBehaviours } from "./behaviours.ts";
import { admit, bodyOf, type Exchange } from "./exchange.ts";
import { draw, formatOf } from "./generate_draw.ts";
import { asNumber, asText } from "./json.ts";
import { require } from "./openai_problems.ts";
import { Problem } from "./problem.ts";
import { type Rules } from "./rules.ts";
import { type Route } from "./server.ts";

const MODELS = ["black-forest-labs/FLUX.1-schnell", "black-forest-labs/FLUX.1-dev"];
/** A model that answers with the file itself. */
const FILE_MODEL = "stabilityai/stable-diffusion-3.5-large";

const PICTURES: Rules = {
  model: { is: "string", required: true },
  prompt: { is: "string", required: true },
  n: { is: "integer", min: 1, max: 10 },
  width: { is: "integer", min: 64, max: 8192 },
  height: { is: "integer", min: 64, max: 8192 },
  size: { is: "string" },
  response_format: { is: "string", oneOf: ["url", "b64_json"] },
  output_format: { is: "string", oneOf: ["png", "jpeg"] },
  seed: { is: "integer" },
  steps: { is: "integer", min: 1 },
  negative_prompt: { is: "string" },
};

async function pictures(exchange: Exchange): Promise<Response> {
  const body = require(bodyOf(exchange), PICTURES, "", true);
  const model = asText(body.model);
  if (model !== FILE_MODEL && !MODELS.includes(model)) {
    throw new Problem(404, `The model '${model}' does not exist.`, { code: "model_not_found" });
  }
  const prompt = asText(body.prompt);
  const behaviours = readBehaviours(prompt, exchange.state.label);
  await admit(exchange, behaviours, prompt);
  if (behaviours.refusal !== null) {
    throw new Problem(400, "The prompt was refused by the safety checker.", {
      code: "content_policy_violation",
    });
  }
  const size = { width: asNumber(body.width) ?? 1024, height: asNumber(body.height) ?? 1024 };
  const format = formatOf(asText(body.output_format, "png"));
  const file = (index: number) => draw(prompt, index, size, format, behaviours);
  if (model === FILE_MODEL) {
    const bytes = Uint8Array.from(atob(file(0)), (letter) => letter.charCodeAt(0));
    return answerFile(exchange, behaviours, bytes, `image/${format}`);
  }
  const made = Math.max(0, (asNumber(body.n) ?? 1) - behaviours.filtered);
  return answerWhole(exchange, behaviours, {
    created: 1_767_225_600,
    data: Array.from({ length: made }, (_, index) => ({ index, b64_json: file(index) })),
  });
}

/** The routes for media, in addition to chat. */
export const HOSTED_MEDIA: readonly Route[] = [
  { method: "POST", path: /^\/images\/generations$/, handle: pictures },
];
