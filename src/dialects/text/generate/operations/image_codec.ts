import { lossesOf, noStream } from "../../../kernel/image_losses.ts";
import type { ImageCodec } from "../../../kernel/image_codec.ts";
import { isRecord } from "../../../kernel/json.ts";
import { hostedWork } from "../hosted.ts";
import { decodeContent, encodeContent } from "./generate_content_images.ts";
import { decodePredict, encodePredict } from "./predict_images.ts";

/** Google's image models: those for images only, and chat models that generate images too. */
export const generateImageCodec: ImageCodec = {
  takesAddresses: false,
  hasModel: (model) => isPredicted(model) || /\bimage\b/.test(model),
  hostedWork,
  encode(ask) {
    if (ask.stream) throw noStream(ask.model);
    const losses = (carried: Parameters<typeof lossesOf>[1]) => lossesOf(ask, carried);
    return isPredicted(ask.model) ? encodePredict(ask, losses) : encodeContent(ask, losses);
  },
  decode: (json) =>
    isRecord(json) && (json.candidates !== undefined || json.promptFeedback !== undefined)
      ? decodeContent(json)
      : decodePredict(json),
};

function isPredicted(model: string): boolean {
  return /^(models\/)?imagen/.test(model);
}
