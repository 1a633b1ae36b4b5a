import type { Dialect } from "../../kernel/dialect.ts";
import type { Translator } from "../../kernel/translator.ts";
import { background } from "./background.ts";
import { conversation } from "./conversation.ts";
import { decodeAnswer, encodeAnswer, encodeWhole } from "./answer_decoder.ts";
import { decodeRequest, decodeSteps } from "./request_decoder.ts";
import { encodeRequest, encodeSteps } from "./request_encoder.ts";
import { errorFrame } from "./answer/failure.ts";
import { hostedWork } from "./hosted.ts";
import { readRequest } from "./request.ts";
import { fitToModel, withoutRefused } from "./models.ts";
import { spliceRequest, spliceSteps } from "./splice.ts";
import { stateless } from "./conversation/stateless.ts";
import { ResponsesStreamDecoder } from "./stream_decoder.ts";
import { wholeOf } from "./answer/terminal_event.ts";
import { ResponsesStreamEncoder } from "./stream_encoder.ts";
import { responsesMediaFields } from "./media.ts";

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
