import type { Dialect } from "../../kernel/dialect.ts";
import type { Translator } from "../../kernel/translator.ts";
import { counting } from "./counting.ts";
import { decodeMessagesAnswer } from "./answer_decoder.ts";
import { decodeMessagesRequest, decodeMessagesSteps } from "./request_decoder.ts";
import { encodeMessagesAnswer, encodeWholeMessage } from "./answer_encoder.ts";
import { encodeMessagesRequest, encodeMessagesSteps } from "./request_encoder.ts";
import { errorEvent } from "./answer/error_event.ts";
import { hostedWork } from "./hosted.ts";
import { naming } from "./naming.ts";
import { readMessagesRequest, spliceMessagesRequest, spliceMessagesSteps } from "./splice.ts";
import { MessagesStreamDecoder } from "./stream_decoder.ts";
import { MessagesStreamEncoder } from "./stream_encoder.ts";
import { messagesMediaFields } from "./media.ts";

/** Messages (protocols/messages.md). */
export const messages: Dialect & Translator = {
  name: "messages",
  mediaFields: messagesMediaFields,
  answerFields: ["metadata", "model", "stream", "tool_choice", "tools"],
  usageMember: "usage",
  readRequest: readMessagesRequest,
  spliceRequest: spliceMessagesRequest,
  hostedWork,
  spliceSteps: spliceMessagesSteps,
  upstreamPath: () => "/messages",
  streamDecoder: () => new MessagesStreamDecoder(),
  decodeAnswer: decodeMessagesAnswer,
  encodeAnswer: encodeMessagesAnswer,
  errorFrame: errorEvent,
  asking: { modelInPath: false, streaming: ["stream"], drop: [], set: [] },
  counting,
  naming,
  decodeRequest: decodeMessagesRequest,
  decodeSteps: decodeMessagesSteps,
  encodeRequest: encodeMessagesRequest,
  encodeSteps: encodeMessagesSteps,
  encodeWhole: encodeWholeMessage,
  streamEncoder: (context) => new MessagesStreamEncoder(context),
};
