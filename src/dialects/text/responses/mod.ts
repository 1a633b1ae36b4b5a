import type { Dialect } from "../../kernel/dialect.ts";
import { finalResponse } from "./answer/response_reader.ts";
import { countItems } from "./answer/hosted_usage.ts";
import { decodeAnswer } from "./answer_decoder.ts";
import { encodeAnswer } from "./answer_encoder.ts";
import { background } from "./background.ts";
import { compactionOf } from "./compaction.ts";
import { conversation } from "./conversation.ts";
import { counting } from "./counting.ts";
import { socket } from "./socket.ts";
import { asksForSummary } from "./conversation/summary.ts";
import { stateless } from "./conversation/stateless.ts";
import { credentialFields } from "./credentials.ts";
import { hostedWork } from "./hosted.ts";
import { mediaFields } from "./media.ts";
import { fitToModel, refusesReasoning, upstreamPath, withoutRefused } from "./models.ts";
import { decodeRequest, refusesForm } from "./request_decoder.ts";
import { encodeRequest } from "./request_encoder.ts";
import { hasExtensions } from "./request/offered_tools.ts";
import { readRequest, spliceRequest } from "./splice.ts";
import { readUsage } from "./usage.ts";
import { createStreamDecoder } from "./stream_decoder.ts";
import { createStreamEncoder, errorFrame } from "./stream_encoder.ts";

const create: Dialect<"responses"> = {
  name: "responses",
  spanOperation: "chat",
  readRequest,
  spliceRequest,
  decodeRequest,
  encodeRequest,
  hostedWork,
  asksForSummary,
  refusesForm,
  extensionsIn: (body) => hasExtensions(body) ? ["tools"] : [],
  countHosted: countItems,
  upstreamPath,
  promptFields: ["input", "instructions"],
  mediaFields,
  credentialFields,
  resendRules: {
    modelInPath: false,
    streaming: ["stream", "stream_options"],
    drop: ["store", "background", "background_options"],
    set: [["store", "false"]],
  },
  // Answers repeat all such fields (`metadata`, `safety_identifier`, `user`).
  labelFields: [],
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
  readRawUsage: (raw, quirks) => readUsage({ usage: raw }, quirks),
  decodeAnswer,
  encodeAnswer,
  createStreamDecoder,
  createStreamEncoder,
  errorFrame,
  background,
  conversation,
  counting,
  socket,
  stateless,
  wholeOf: finalResponse,
  fitToModel,
  withoutRefused,
  refusesReasoning,
};

/** Responses: OpenAI's second API. The state between calls is in `conversation/state.ts`. */
export const responses: Dialect<"responses"> = { ...create, compaction: compactionOf(create) };
