import { typicalImageTokens } from "../../../shared/media_estimate.ts";
import {
  estimateTokens,
  fetchedTokenBound,
  type InputTokenBounds,
  maxImageTokens,
} from "../../../shared/token_estimate.ts";
import { Fault, unreadableAnswer } from "../../../shared/fault.ts";
import type { BillableUsage, ImageCount } from "../../../pricing/pricing.ts";
import type { SseEvent } from "../../../base/sse.ts";
import { asList, asRecord, asString, count, isRecord, type JsonRecord } from "../../kernel/json.ts";
import type { MediaField } from "../../kernel/media_field.ts";
import { withoutPictures } from "../../kernel/picture_text.ts";
import {
  framesOf,
  imageTokens,
  partialImageTokens,
  withPartialImages,
} from "../../kernel/image_tokens.ts";
import { vendorCost } from "../../kernel/vendor_cost.ts";
import type { AnswerEnding, Operation, OperationEvent, Outcome } from "../../kernel/operation.ts";
import { type OperationRequest, parsedRecord, recordText } from "../../kernel/operation_request.ts";
import { imageWork } from "../../kernel/image_work.ts";
import { isHalfReported, reportedTokens, withMissingTotal } from "../../kernel/reported_tokens.ts";
import { optionalField } from "../../kernel/fields.ts";
import { defined } from "../../../base/defined.ts";
import { JsonAnswerReader, readEvent } from "../../kernel/answer_reader.ts";

const mediaFields: readonly MediaField[] = [
  { key: "b64_json", mimeType: "mime_type" },
  // In answers that have this gateway's addresses.
  { parent: "data", key: "url", address: true, always: true },
  // Files of a form, as recorded.
  { key: "data", mimeType: "content_type" },
  // Reference images in JSON.
  { key: "image_url", address: true },
  { parent: "image_url", key: "url", address: true },
  { parent: "image", key: "url", address: true },
  { parent: "images", key: "url", address: true },
  { parent: "mask", key: "url", address: true },
  { key: "image", address: true },
  { key: "images", address: true },
];

const shared = {
  name: "images",
  mediaFields,
  promptPath: ["prompt"],
  countedText,
  bound: imageBound,
  hostedWork: imageWork,
  reader: (request: OperationRequest) => new ImageReader(request),
} as const;

export const imageGenerations: Operation = { ...shared, kind: "imageGenerations" };

/** Edits of images, with the same answers. */
export const imageEdits: Operation = { ...shared, kind: "imageEdits" };

/** A form's pictures are files, which are counted as such. */
function countedText(request: OperationRequest): string {
  return "form" in request.sent ? asString(request.fields.prompt) ?? "" : recordText(request);
}

function imageBound(request: OperationRequest, counted: InputTokenBounds) {
  const { fields, files } = request;
  const n = numberOf(fields.n) ?? 1;
  const image = pricedKindOf(request.model, fields);
  const partials = numberOf(fields.partial_images) ?? 0;
  const { inputTokens, believedInputTokens } = counted;
  const pictures = files.length * maxImageTokens + fetchedTokens(fields);
  return {
    inputTokens: inputTokens + pictures,
    believedInputTokens: believedInputTokens + pictures,
    maxOutputTokens: framesOf(fields) * imageTokens(image.quality, image.size) +
      partials * partialImageTokens,
    choices: n,
    images: [{ ...image, count: n }],
  };
}

/**
 * Returns the maximum number of tokens of the pictures that the vendor fetches. Each one is an
 * address, or an object that holds an address under some name.
 */
function fetchedTokens(fields: JsonRecord): number {
  const addresses = (value: unknown): unknown[] =>
    isRecord(value) ? Object.values(value).flatMap(addresses) : [value];
  return [fields.images, fields.image, fields.image_url, fields.mask].flatMap(asList)
    .flatMap(addresses).reduce<number>((sum, one) => sum + fetchedTokenBound(one, "image"), 0);
}

/** Numbers in a form are text. */
function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) && number > 0 ? number : undefined;
}

/**
 * Returns the size and quality that an image's price depends on, from the answer or else from the
 * request. Where neither states them, DALL·E uses its defaults; other models choose.
 */
function pricedKindOf(model: string, ...sources: readonly JsonRecord[]): Omit<ImageCount, "count"> {
  const stated = (name: string) =>
    sources.map((one) => asString(one[name])).find((value) =>
      value !== undefined && value !== "auto"
    );
  const [, version] = /^(?:.*\/)?dall-e-(\d)/.exec(model) ?? [];
  const size = stated("size") ?? (version === undefined ? undefined : "1024x1024");
  // Only DALL·E 3 has qualities.
  const quality = stated("quality") ?? (version === "3" ? "standard" : undefined);
  return defined({ size, quality });
}

class ImageReader extends JsonAnswerReader {
  readonly #completed: JsonRecord[] = [];
  /** Those since the last report. */
  #partials = 0;
  #answer: JsonRecord | undefined;
  #isStream = false;

  whole(text: string): void {
    const answer = parsedRecord(withoutPictures(text));
    if (!answer || !Array.isArray(answer.data)) {
      throw unreadableAnswer("an answer without pictures");
    }
    const data = answer.data.filter(isRecord);
    // A refusal with a success status.
    if (data.length > 0 && data.every((one) => one.respect_moderation === false)) {
      throw new Fault("content_policy_violation");
    }
    this.#answer = { ...answer, data };
  }

  override event(event: SseEvent): OperationEvent {
    this.#isStream = true;
    return readEvent(event, (record) => this.#record(record));
  }

  #record(event: JsonRecord): OperationEvent {
    const type = asString(event.type) ?? "";
    if (type.endsWith(".partial_image")) this.#partials++;
    if (!type.endsWith(".completed")) return {};
    this.#completed.push(event);
    if (readImageUsage(event.usage)) this.#partials = 0;
    // Vendors may withhold some of several images.
    const isLast = this.#completed.length >= (numberOf(this.request.fields.n) ?? 1);
    return { isLast, isComplete: true };
  }

  outcome(ending: AnswerEnding): Outcome | undefined {
    if (this.#isStream) return this.#streamed(ending);
    if (!this.#answer || !ending.isComplete) return undefined;
    const pictures = (this.#answer.data as readonly unknown[]).length;
    return this.#outcome(this.#answer, pictures, ending);
  }

  #streamed(ending: AnswerEnding): Outcome | undefined {
    const last = this.#completed.at(-1);
    if (!last) {
      if (this.#partials === 0) return undefined;
      const usage = { input: this.#promptTokens(), output: 0 };
      return { usage: withPartialImages(usage, this.#partials), basis: "estimated" };
    }
    const { type: _type, b64_json: _data, created_at: created, ...rest } = last;
    const data = this.#completed.map(({ b64_json }) => ({ b64_json }));
    const recordText = JSON.stringify({ created, ...rest, data });
    const outcome = this.#outcome(last, this.#completed.length, ending);
    if (this.#partials === 0 || ending.price?.rates.perImage !== undefined) {
      return { ...outcome, recordText };
    }
    const usage = withPartialImages(outcome.usage, this.#partials);
    return { usage, basis: "estimated", recordText };
  }

  #outcome(
    answer: JsonRecord,
    pictures: number,
    { price, ignoresCost = false }: AnswerEnding,
  ): Outcome {
    const image = pricedKindOf(this.request.model, answer, this.request.fields);
    const images = [{ ...image, count: pictures }];
    const reported = readImageUsage(answer.usage);
    // At a price per token, a picture without reported tokens would cost nothing.
    const isByToken = price !== undefined && price.rates.perImage === undefined;
    const { usage: raw } = answer;
    const cost = ignoresCost ? {} : vendorCost(asRecord(raw));
    const hasCost = cost.vendorCostUsd !== undefined;
    const isHalf = isByToken && isHalfReported(reported, pictures);
    const isCounted = reported && (reported.output > 0 || pictures === 0);
    if (reported && (hasCost || !isByToken || (isCounted && !isHalf))) {
      return { usage: { ...reported, images }, basis: "reported" };
    }
    // If the price is per image, the answer itself shows how many there are.
    if (hasCost || price?.rates.perImage !== undefined) {
      const reportedCost = hasCost ? { ...cost, raw } : {};
      return { usage: { input: 0, output: 0, ...reportedCost, images }, basis: "reported" };
    }
    const frames = framesOf(this.request.fields);
    const output = pictures * frames * imageTokens(image.quality, image.size);
    const estimate = { input: this.#promptTokens(), output, imageOutput: output };
    const usage = reported && isHalf ? withMissingTotal(reported, estimate) : estimate;
    return { usage: { ...usage, images }, basis: "estimated" };
  }

  #promptTokens(): number {
    const { fields, files } = this.request;
    return estimateTokens(asString(fields.prompt) ?? "") + files.length * typicalImageTokens;
  }
}

/** Reads usage in the images dialect; undefined when it holds no numbers. */
export function readImageUsage(usage: unknown): BillableUsage | undefined {
  const reported = reportedTokens(usage, "input_tokens", "output_tokens");
  if (!reported) return undefined;
  const { raw, input, output, unreported } = reported;
  const into = asRecord(raw.input_tokens_details);
  const out = asRecord(raw.output_tokens_details);
  return {
    input,
    ...optionalField("imageInput", count(into.image_tokens)),
    ...optionalField("cacheRead", count(into.cached_tokens)),
    output,
    // Without details all output counts as images.
    imageOutput: count(out.image_tokens) ?? output,
    ...optionalField("unreported", unreported),
    ...vendorCost(raw),
    raw,
  };
}
