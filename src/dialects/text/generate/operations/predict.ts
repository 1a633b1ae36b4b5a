import { unreadableAnswer } from "../../../../shared/fault.ts";
import { withoutPictures } from "../../../kernel/picture_text.ts";
import { imageTokens } from "../../../kernel/image_tokens.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import type { Operation, Outcome } from "../../../kernel/operation.ts";
import {
  type OperationRequest,
  parsedRecord,
  recordText,
} from "../../../kernel/operation_request.ts";
import type { PriceRow } from "../../../../pricing/pricing.ts";
import { JsonAnswerReader } from "../../../kernel/answer_reader.ts";

/** `:predict` of Google's models for images only. */
export const predict: Operation = {
  kind: "predict",
  name: "images",
  mediaFields: [{ key: "bytesBase64Encoded", mimeType: "mimeType" }],
  promptPath: ["instances", 0, "prompt"],
  // Only the path names the model.
  *modelEdits() {
    yield;
    return [];
  },
  countedText: recordText,
  bound(request, counted) {
    const { instances } = request.fields;
    const prompts = Array.isArray(instances) ? instances.length : 1;
    const count = prompts * picturesOf(parametersOf(request));
    const { size } = pricedKindOf(request);
    return {
      ...counted,
      maxOutputTokens: imageTokens(undefined, undefined),
      choices: count,
      images: [{ size, count }],
    };
  },
  reader: (request) => new PictureReader(request),
};

/** By default the models generate up to four (its client library's `numberOfImages`). */
const maxDefaultImages = 4;

/**
 * Returns the largest number of images that the request may mean: protobuf's JSON accepts numbers
 * as text too.
 */
function picturesOf({ sampleCount }: JsonRecord): number {
  const count = typeof sampleCount === "string" ? Number(sampleCount) : sampleCount;
  return typeof count === "number" && Number.isInteger(count) && count > 0
    ? count
    : maxDefaultImages;
}

function parametersOf({ fields }: OperationRequest): JsonRecord {
  return asRecord(fields.parameters);
}

/** What the price of an image depends on. */
function pricedKindOf(request: OperationRequest): { size: string } {
  const { imageSize, sampleImageSize } = parametersOf(request);
  return { size: asString(imageSize) ?? asString(sampleImageSize) ?? "1K" };
}

class PictureReader extends JsonAnswerReader {
  #pictures: number | undefined;

  /**
   * Counts the images. Withheld images, possibly all, are missing, or an entry gives the reason.
   */
  whole(text: string): void {
    const answer = parsedRecord(withoutPictures(text));
    if (!answer || !(answer.predictions === undefined || Array.isArray(answer.predictions))) {
      throw unreadableAnswer("an answer without pictures");
    }
    const made: unknown[] = answer.predictions ?? [];
    this.#pictures = made.filter((one) => isRecord(one) && "bytesBase64Encoded" in one).length;
  }

  outcome({ price }: { price: PriceRow | undefined }): Outcome | undefined {
    const count = this.#pictures;
    if (count === undefined) return undefined;
    const images = [{ ...pricedKindOf(this.request), count }];
    if (price?.rates.perImage !== undefined) {
      return { usage: { input: 0, output: 0, images }, basis: "reported" };
    }
    // The vendor reports no tokens here: a price per token is applied to an estimate.
    const output = count * imageTokens(undefined, undefined);
    return { usage: { input: 0, output, imageOutput: output, images }, basis: "estimated" };
  }
}
