import type { Dialect } from "../dialect.ts";
import { readChatRequest, spliceChatRequest } from "./request.ts";
import { decodeChatAnswer, encodeChatAnswer } from "./response.ts";
import { chatErrorFrame, ChatStreamDecoder } from "./stream.ts";

/** Chat completions (protocols/chat-completions.md). */
export const chat: Dialect = {
  name: "chat",
  readRequest: readChatRequest,
  spliceRequest: spliceChatRequest,
  upstreamPath: () => "/chat/completions",
  streamDecoder: (quirks) => new ChatStreamDecoder(quirks),
  decodeAnswer: decodeChatAnswer,
  encodeAnswer: encodeChatAnswer,
  errorFrame: chatErrorFrame,
};
