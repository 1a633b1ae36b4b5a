import { familySpeech, familyTranscriptions } from "../media/audio_paths.ts";
import { familyEmbeddings } from "./embeddings.ts";
import { familyImageEdits, familyImages } from "../media/image_paths.ts";
import {
  familyBatchEmbedContents,
  familyEmbedContent,
  familyPredict,
} from "./generate_operations.ts";
import type { OperationKind, VendorFamily } from "./vendors.ts";

/** The contracts of a family's operations beside the chat dialects. */
export function familyOperations(family: VendorFamily) {
  const has = (kind: OperationKind) => family.operations.includes(kind);
  return {
    imageGenerations: has("imageGenerations") ? familyImages(family) : undefined,
    imageEdits: has("imageEdits") ? familyImageEdits(family) : undefined,
    speech: has("speech") ? familySpeech(family) : undefined,
    transcriptions: has("transcriptions") ? familyTranscriptions(family) : undefined,
    embeddings: has("embeddings") ? familyEmbeddings(family) : undefined,
    predict: has("predict") ? familyPredict(family) : undefined,
    embedContent: has("embedContent") ? familyEmbedContent(family) : undefined,
    batchEmbedContents: has("batchEmbedContents") ? familyBatchEmbedContents(family) : undefined,
  };
}
