import type { Dialect } from "../dialect.ts";
import type { Translator } from "../translator.ts";
import { conversation } from "./conversation.ts";
import { decodeAnswer, encodeAnswer, encodeWhole } from "./answer.ts";
import { decodeRequest, decodeSteps } from "./decode_request.ts";
import { encodeRequest, encodeSteps } from "./encode_request.ts";
import { errorFrame } from "./failure.ts";
import { readRequest } from "./request.ts";
import { spliceRequest, spliceSteps } from "./splice.ts";
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
  readRequest,
  spliceRequest,
  spliceSteps,
  upstreamPath: () => "/responses",
  streamDecoder: (quirks) => new ResponsesStreamDecoder(quirks),
  decodeAnswer,
  encodeAnswer,
  errorFrame: (fault) => errorFrame(fault),
  wholeOf,
  asking: {
    modelInPath: false,
    drop: ["stream", "stream_options", "store", "background"],
    set: [["store", "false"]],
  },
  conversation,
  decodeRequest,
  decodeSteps,
  encodeRequest,
  encodeSteps,
  encodeWhole,
  streamEncoder: (context) => new ResponsesStreamEncoder(context),
};
