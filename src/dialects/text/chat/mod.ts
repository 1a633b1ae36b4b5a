import type { Dialect } from "../../kernel/dialect.ts";
import { readChatRequest, spliceChatRequest, spliceChatSteps } from "./splice.ts";
import type { Translator } from "../../kernel/translator.ts";
import { decodeChatRequest, decodeChatSteps } from "./request_decoder.ts";
import { encodeChatRequest, encodeChatSteps } from "./request_encoder.ts";
import { decodeChatAnswer, encodeChatAnswer, encodeWholeChat } from "./answer_decoder.ts";
import { chatErrorFrame, ChatStreamDecoder } from "./stream_decoder.ts";
import { ChatStreamEncoder } from "./stream_encoder.ts";
import { hostedWork } from "./hosted.ts";
import { chatMediaFields } from "./media.ts";
import { readToolDemand } from "./tool_demand.ts";

/** Chat completions (protocols/chat-completions.md). */
export const chat: Dialect & Translator = {
  name: "chat",
  mediaFields: chatMediaFields,
  answerFields: [
    "functions",
    "metadata",
    "model",
    "reasoning",
    "store",
    "stream",
    "tool_choice",
    "tools",
  ],
  usageMember: "usage",
  readRequest: readChatRequest,
  spliceRequest: spliceChatRequest,
  hostedWork,
  spliceSteps: spliceChatSteps,
  upstreamPath: () => "/chat/completions",
  streamDecoder: (quirks, choices) => new ChatStreamDecoder(quirks, choices),
  decodeAnswer: decodeChatAnswer,
  encodeAnswer: encodeChatAnswer,
  errorFrame: chatErrorFrame,
  toolDemand: readToolDemand,
  asking: { modelInPath: false, streaming: ["stream", "stream_options"], drop: [], set: [] },
  usageFlag: {
    isRefusedIn: (refusal) => refusal.includes("stream_options"),
    without({ stream_options: _, ...request }) {
      return request;
    },
  },
  decodeRequest: decodeChatRequest,
  decodeSteps: decodeChatSteps,
  encodeRequest: encodeChatRequest,
  encodeSteps: encodeChatSteps,
  encodeWhole: encodeWholeChat,
  // Pictures and videos go by address; documents and sound only as data (translation.md §11).
  needsInline: ({ kind }) => kind === "file" || kind === "audio",
  streamEncoder: (context) => new ChatStreamEncoder(context),
};
