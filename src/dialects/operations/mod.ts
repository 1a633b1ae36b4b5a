import type { OperationKind } from "../../../contracts/vendors.ts";
import { batchEmbedContents, embedContent } from "./embed_content.ts";
import { embeddings } from "./embeddings.ts";
import { imageEdits, imageGenerations } from "./images.ts";
import type { Operation } from "./operation.ts";
import { predict } from "./predict.ts";
import { speech } from "./speech.ts";
import { transcriptions } from "./transcriptions.ts";

/** Every operation by its kind. */
export const operations: Readonly<Record<OperationKind, Operation>> = {
  imageGenerations,
  imageEdits,
  speech,
  transcriptions,
  embeddings,
  predict,
  embedContent,
  batchEmbedContents,
};
