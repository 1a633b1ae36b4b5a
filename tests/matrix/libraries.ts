import { aiSdk } from "./ai_sdk.ts";
import { anthropic } from "./anthropic.ts";
import { genai } from "./genai.ts";
import type { Address, Library } from "./library.ts";
import { openaiChat } from "./openai_chat.ts";
import { openaiResponses } from "./openai_responses.ts";

/** Every official library of the matrix, unmodified. */
export function librariesAt(at: Address): Library[] {
  return [openaiChat(at), openaiResponses(at), anthropic(at), genai(at), ...aiSdk(at)];
}

/** Their names, in the same order. */
export const libraryNames = librariesAt({ url: "http://127.0.0.1:1", key: "none" })
  .map(({ name }) => name);
