import type { Dialect } from "../../kernel/dialect.ts";
import type { Translator } from "../../kernel/translator.ts";
import { background } from "./background.ts";
import { conversation } from "./conversation.ts";
import { decodeAnswer, encodeAnswer, encodeWhole } from "./answer.ts";
import { decodeRequest, decodeSteps } from "./decode_request.ts";
import { encodeRequest, encodeSteps } from "./encode_request.ts";
import { errorFrame } from "./failure.ts";
import { hostedWork } from "./hosted.ts";
import { readRequest } from "./request.ts";
import { fitToModel, withoutRefused } from "./refused_extras.ts";
import { spliceRequest, spliceSteps } from "./splice.ts";
import { stateless } from "./stateless.ts";
import { ResponsesStreamDecoder } from "./stream_decoder.ts";
import { wholeOf } from "./terminal_event.ts";
import { ResponsesStreamEncoder } from "./stream_encoder.ts";
import { responsesMediaFields } from "./media_fields.ts";

/** Responses (protocols/responses.md). The state between calls is in `state.ts`. */
export const responses: Dialect & Translator = {
  name: "responses",
  mediaFields: responsesMediaFields,
  answerFields: [
    "metadata",
    "model",
    "reasoning",
    "store",
    "stream",
    "text",
    "tool_choice",
    "tools",
  ],
  usageMember: "usage",
  readRequest,
  spliceRequest,
  hostedWork,
  stateless,
  spliceSteps,
  upstreamPath: () => "/responses",
  streamDecoder: (quirks) => new ResponsesStreamDecoder(quirks),
  decodeAnswer,
  encodeAnswer,
  errorFrame: (fault) => errorFrame(fault),
  wholeOf,
  asking: {
    modelInPath: false,
    streaming: ["stream", "stream_options"],
    drop: ["store", "background"],
    set: [["store", "false"]],
  },
  conversation,
  background,
  fitToModel,
  withoutRefused,
  decodeRequest,
  decodeSteps,
  encodeRequest,
  encodeSteps,
  encodeWhole,
  streamEncoder: (context) => new ResponsesStreamEncoder(context),
};
