import type { Dialect } from "../../kernel/dialect.ts";
import { readArgumentsAhead } from "../../kernel/read_arguments.ts";
import { countWork } from "./answer/search_blocks.ts";
import { decodeAnswer } from "./answer_decoder.ts";
import { encodeAnswer } from "./answer_encoder.ts";
import { conversation } from "./conversation.ts";
import { counting } from "./counting.ts";
import { credentialFields } from "./credentials.ts";
import { hostedWork } from "./hosted.ts";
import { mediaFields } from "./media.ts";
import { upstreamPath, withoutRefused } from "./models.ts";
import { naming } from "./naming.ts";
import { asksForSummary, decodeRequest } from "./request_decoder.ts";
import { encodeRequest } from "./request_encoder.ts";
import { refusesForm } from "./request/other_model.ts";
import { unsignedThinking } from "./request/unsigned_thinking.ts";
import { readRequest, spliceRequest } from "./splice.ts";
import { readUsage } from "./usage.ts";
import { createStreamDecoder } from "./stream_decoder.ts";
import { createStreamEncoder, errorFrame, lastEvent } from "./stream_encoder.ts";

/** Messages: Anthropic's API. */
export const messages: Dialect<"messages"> = {
  name: "messages",
  spanOperation: "chat",
  readRequest,
  spliceRequest,
  decodeRequest,
  encodeRequest,
  hostedWork,
  asksForSummary,
  unsignedThinking,
  refusesForm,
  countHosted: countWork,
  upstreamPath,
  promptFields: ["messages", "system"],
  mediaFields,
  credentialFields,
  callMembers: new Set(["input"]),
  resendRules: { modelInPath: false, streaming: ["stream"], drop: [], set: [] },
  labelFields: ["metadata"],
  answerFields: ["metadata", "model", "stream", "thread", "tool_choice", "tools"],
  usageMember: "usage",
  readRawUsage: (raw) => readUsage(raw),
  decodeAnswer,
  encodeAnswer,
  readAhead: readArgumentsAhead,
  createStreamDecoder,
  createStreamEncoder,
  errorFrame,
  lastEvent,
  conversation,
  counting,
  naming,
  withoutRefused,
};
