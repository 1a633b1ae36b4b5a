import type { Steps } from "../base/steps.ts";
import {
  type ImageAnswerFacts,
  imageSource,
  writeImageAnswer,
} from "../dialects/media/images/write_answer.ts";
import type { GeneratedImage } from "../dialects/kernel/image_codec.ts";
import { base64BytesSteps } from "../dialects/kernel/media_source.ts";
import { imageGenerations } from "../dialects/media/operations/images.ts";
import { withFiles } from "../records/answer_files.ts";
import {
  externalizeFile,
  externalizeMediaSteps,
  placeholder,
} from "../records/externalize_media.ts";
import { unreadableAnswer } from "../shared/fault.ts";
import type { WholeOperationAnswer } from "./operations.ts";

/**
 * Writes the answer for the caller, and for the record, which has images of more than `inlineBytes`
 * by their hash. `addressOf`: the address of a file by its hash; undefined: the caller gets base64.
 */
export function* imageAnswer(
  facts: ImageAnswerFacts,
  { addressOf, inlineBytes }: {
    addressOf: ((sha256: string) => string) | undefined;
    inlineBytes: number;
  },
): Steps<Pick<WholeOperationAnswer, "body" | "recordText" | "recordMedia">> {
  const limit = addressOf ? 0 : inlineBytes;
  const images: GeneratedImage[] = [];
  for (const image of facts.images) images.push(yield* filed(image, limit));
  const files = new Map(
    images.flatMap(({ data, file }) => data !== undefined && file ? [[data, file]] : []),
  );
  const write = (sources: (image: GeneratedImage) => ReturnType<typeof imageSource>) =>
    writeImageAnswer({ ...facts, images }, images.map(sources));
  const text = yield* write((image) =>
    addressOf && image.file ? { url: image.data } : imageSource(image)
  );
  const { mediaFields: fields } = imageGenerations;
  const recorded = yield* externalizeMediaSteps(text, { inlineBytes, fields, files });
  const record = { recordText: recorded.text, recordMedia: recorded.media };
  if (!addressOf) return { body: yield* withFiles(text, files), ...record };
  const body = yield* write((image) =>
    image.file ? { url: addressOf(image.file.sha256) } : imageSource(image)
  );
  return { body, ...record };
}

/** Makes a file of an image that came as one, or has more than `limit` bytes. */
function* filed(image: GeneratedImage, limit: number): Steps<GeneratedImage> {
  const { bytes, data, ...rest } = image;
  if (image.file || (bytes === undefined && data === undefined)) return image;
  const content = bytes ?? (yield* base64BytesSteps(data ?? ""));
  if (!content) throw unreadableAnswer("an image that isn't base64");
  if (!bytes && content.length <= limit) return image;
  const { media: file } = yield* externalizeFile(content, undefined);
  return { ...rest, data: placeholder(), file };
}
