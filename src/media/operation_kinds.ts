import type { OperationKind } from "../../contracts/vendors.ts";
import { batchEmbedContents, embedContent } from "../dialects/generate/embed_content.ts";
import { predict } from "../dialects/generate/predict.ts";
import type { Operation } from "../dialects/operation.ts";
import { pathOperations } from "../dialects/operations/mod.ts";

/** Every operation by its kind. */
export const operations: Readonly<Record<OperationKind, Operation>> = {
  ...pathOperations,
  predict,
  embedContent,
  batchEmbedContents,
};
