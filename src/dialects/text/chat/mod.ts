import type { Dialect } from "../../kernel/dialect.ts";
import { decodeAnswer } from "./answer_decoder.ts";
import { encodeAnswer } from "./answer_encoder.ts";
import { credentialFields } from "./credentials.ts";
import { hostedWork } from "./hosted.ts";
import { mediaFields, mustInline } from "./media.ts";
import { upstreamPath } from "./models.ts";
import { decodeRequest, refusesForm } from "./request_decoder.ts";
import { encodeRequest } from "./request_encoder.ts";
import {
  extensionsIn,
  fallbackField,
  readRequest,
  readToolDemand,
  spliceRequest,
} from "./splice.ts";
import { readUsage } from "./usage.ts";
import { createStreamDecoder } from "./stream_decoder.ts";
import { createStreamEncoder, errorFrame } from "./stream_encoder.ts";

/** Chat completions: OpenAI's first API, which most vendors offer. */
export const chat: Dialect<"chat"> = {
  name: "chat",
  spanOperation: "chat",
  readRequest,
  spliceRequest,
  decodeRequest,
  encodeRequest,
  hostedWork,
  refusesForm,
  upstreamPath,
  promptFields: ["messages"],
  mediaFields,
  credentialFields,
  mustInline,
  resendRules: { modelInPath: false, streaming: ["stream", "stream_options"], drop: [], set: [] },
  labelFields: ["metadata", "safety_identifier", "user"],
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
  readRawUsage: readUsage,
  decodeAnswer,
  encodeAnswer,
  createStreamDecoder,
  createStreamEncoder,
  errorFrame,
  toolDemand: readToolDemand,
  extensionsIn,
  fallbackField,
  usageFlag: {
    isRefusedIn: (refusal) => refusal.includes("stream_options"),
    without({ stream_options: _, ...request }) {
      return request;
    },
  },
};
