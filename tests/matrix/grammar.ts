import type { DialectName } from "../../contracts/calls/vendors.ts";
import { checkChatStream } from "../support/grammar/chat.ts";
import { checkGenerateStream } from "../support/grammar/generate.ts";
import { checkMessagesStream } from "../support/grammar/messages.ts";
import { checkResponsesStream } from "../support/grammar/responses.ts";
import type { AnswerContent } from "../support/grammar/answer_content.ts";

/** Throws unless a whole stream of ours obeys its dialect's grammar; gives what it says. */
export function checkGrammar(
  dialect: DialectName,
  text: string,
  /** The caller's request, which may have asked for usage. */
  request: { stream_options?: { include_usage?: boolean } } = {},
): AnswerContent {
  switch (dialect) {
    case "chat":
      return checkChatStream(text, { usage: request.stream_options?.include_usage === true });
    case "responses":
      return checkResponsesStream(text);
    case "messages":
      return checkMessagesStream(text);
    case "generate":
      return checkGenerateStream(text, text.startsWith("[") ? "array" : "sse");
  }
}
