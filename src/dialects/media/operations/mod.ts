import type { Operation } from "../../kernel/operation.ts";
import { embeddings } from "./embeddings.ts";
import { imageEdits, imageGenerations } from "./images.ts";
import { speech } from "./speech.ts";
import { transcriptions, translations } from "./transcriptions.ts";

/** The operations of chat-style vendors by their kind. */
export const pathOperations = {
  imageGenerations,
  imageEdits,
  speech,
  transcriptions,
  translations,
  embeddings,
} as const satisfies Readonly<Record<string, Operation>>;
