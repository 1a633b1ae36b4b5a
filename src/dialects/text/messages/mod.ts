import type { Dialect } from "../../kernel/dialect.ts";
import type { Translator } from "../../kernel/translator.ts";
import { counting } from "./count_tokens.ts";
import { decodeMessagesAnswer } from "./answer.ts";
import { decodeMessagesRequest, decodeMessagesSteps } from "./decode_request.ts";
import { encodeMessagesAnswer, encodeWholeMessage } from "./encode_answer.ts";
import { encodeMessagesRequest, encodeMessagesSteps } from "./encode_request.ts";
import { errorEvent } from "./error_event.ts";
import { hostedWork } from "./hosted.ts";
import { naming } from "./name_model.ts";
import { readMessagesRequest, spliceMessagesRequest, spliceMessagesSteps } from "./request.ts";
import { MessagesStreamDecoder } from "./stream_decoder.ts";
import { MessagesStreamEncoder } from "./stream_encoder.ts";
import { messagesMediaFields } from "./media_fields.ts";

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
