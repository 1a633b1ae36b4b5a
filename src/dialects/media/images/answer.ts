import { unreadableAnswer } from "../../../shared/fault.ts";
import type { Usage } from "../../../shared/usage.ts";
import type { GeneratedImage, ImageAnswer } from "../../kernel/image_codec.ts";
import { optionalField } from "../../kernel/fields.ts";
import {
  asRecord,
  asString,
  count,
  isRecord,
  type JsonRecord,
  miscounts,
} from "../../kernel/json.ts";
import { vendorCost } from "../../kernel/vendor_cost.ts";
import { standardBase64 } from "../../kernel/media_source.ts";

/**
 * Reads `{data: [{b64_json | url, revised_prompt?}], usage?}`, which most vendors answer with.
 * `isBlocked`: whether an entry stands for a withheld image.
 */
export function readImageList(
  json: unknown,
  isBlocked: (entry: JsonRecord) => boolean = () => false,
): ImageAnswer {
  if (!isRecord(json) || !Array.isArray(json.data)) {
    throw unreadableAnswer("an answer without a list of images");
  }
  const entries = json.data.filter(isRecord);
  const shown = entries.filter((entry) => !isBlocked(entry));
  const images = shown.flatMap(readImage);
  const usage = readImageUsage(json.usage);
  const isUnreadable = images.length === 0 && shown.some(hasContent);
  const isWithheld = entries.length > images.length || images.length === 0;
  return {
    images,
    ...(isUnreadable
      ? { failure: "an image that can't be read" }
      : isWithheld
      ? { refusal: "The vendor withheld images that it had generated." }
      : {}),
    ...(usage ? { usage } : {}),
  };
}

/** Returns the image of an entry, in any of the vendors' forms; an empty list if there is none. */
export function readImage(entry: JsonRecord): GeneratedImage[] {
  const revisedPrompt = asString(entry.revised_prompt);
  const revised = revisedPrompt === undefined ? {} : { revisedPrompt };
  const { inline, address } = sourcesOf(entry);
  const data = inline === undefined ? undefined : standardBase64(inline);
  if (data) return [{ data, ...revised }];
  return address === undefined || address.startsWith("data:") ? [] : [{ url: address, ...revised }];
}

/** Whether an entry has something that should be an image. */
function hasContent(entry: JsonRecord): boolean {
  const { inline, address } = sourcesOf(entry);
  return Boolean(inline ?? address);
}

/** Returns an image's base64 and its address, as far as an entry has them. */
function sourcesOf(entry: JsonRecord) {
  const nested = isRecord(entry.image_url) ? entry.image_url.url : entry.image_url;
  const address = asString(entry.url) ?? asString(nested);
  const inline = asString(entry.b64_json);
  return { inline: dataOf(inline) ?? inline ?? dataOf(address), address };
}

export function readImageUsage(raw: unknown): Usage | undefined {
  if (!isRecord(raw)) return undefined;
  if (miscounts(raw, "input_tokens", "prompt_tokens", "output_tokens", "completion_tokens")) {
    return undefined;
  }
  const input = count(raw.input_tokens) ?? count(raw.prompt_tokens);
  const output = count(raw.output_tokens) ?? count(raw.completion_tokens);
  const taken = asRecord(raw.input_tokens_details);
  const made = asRecord(raw.output_tokens_details);
  return {
    input: input ?? 0,
    output: output ?? 0,
    ...optionalField("imageInput", count(taken.image_tokens)),
    ...optionalField("cacheRead", count(taken.cached_tokens)),
    // Without details all output counts as images.
    ...optionalField("imageOutput", count(made.image_tokens) ?? output),
    ...vendorCost(raw),
    raw,
  };
}

function dataOf(address: string | undefined): string | undefined {
  return address === undefined ? undefined : /^data:[^,]*;base64,(.*)$/s.exec(address)?.[1];
}
