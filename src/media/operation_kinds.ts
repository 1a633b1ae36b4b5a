import type { OperationKind } from "../../contracts/calls/vendors.ts";
import {
  batchEmbedContents,
  embedContent,
} from "../dialects/text/generate/operations/embed_content.ts";
import { predict } from "../dialects/text/generate/operations/predict.ts";
import type { Operation } from "../dialects/kernel/operation.ts";
import { pathOperations } from "../dialects/media/operations/mod.ts";

export const operations: Readonly<Record<OperationKind, Operation>> = {
  ...pathOperations,
  predict,
  embedContent,
  batchEmbedContents,
};
