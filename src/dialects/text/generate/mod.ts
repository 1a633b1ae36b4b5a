import type { Dialect } from "../../kernel/dialect.ts";
import { readArgumentsAhead } from "../../kernel/read_arguments.ts";
import { ArrayReframer } from "./answer/framing.ts";
import { decodeAnswer } from "./answer_decoder.ts";
import { encodeAnswer } from "./answer_encoder.ts";
import { counting } from "./counting.ts";
import { credentialFields } from "./credentials.ts";
import { hostedWork } from "./hosted.ts";
import { mediaFields, mustInline } from "./media.ts";
import { callMembers } from "./answer/call_members.ts";
import { upstreamPath } from "./models.ts";
import { decodeRequest } from "./request_decoder.ts";
import { encodeRequest } from "./request_encoder.ts";
import { readRequest, spliceRequest } from "./splice.ts";
import { refusesLevel } from "./request/other_model.ts";
import { unsignedCalls } from "./request/unsigned_calls.ts";
import { readUsage } from "./usage.ts";
import { createStreamDecoder } from "./stream_decoder.ts";
import { createStreamEncoder, errorFrame } from "./stream_encoder.ts";

/**
 * Generate content: Google's API. Its paths name the model and streaming: `readRequest` and
 * `decodeRequest` take the JSON body with the members `model` and `stream` added, and
 * `encodeRequest` returns a body without them.
 */
export const generate: Dialect<"generate"> = {
  name: "generate",
  spanOperation: "generate_content",
  readRequest,
  spliceRequest,
  decodeRequest,
  encodeRequest,
  hostedWork,
  unsignedThinking: unsignedCalls,
  refusesForm: refusesLevel,
  upstreamPath,
  promptFields: ["contents", "systemInstruction", "system_instruction"],
  mediaFields,
  credentialFields,
  mustInline,
  callMembers,
  resendRules: { modelInPath: true, streaming: [], drop: [], set: [] },
  labelFields: ["labels"],
  answerFields: ["generationConfig", "generation_config", "model", "tools"],
  usageMember: "usageMetadata",
  readRawUsage: (raw) => readUsage(raw),
  decodeAnswer,
  encodeAnswer,
  readAhead: readArgumentsAhead,
  createStreamDecoder,
  createStreamEncoder,
  errorFrame,
  counting,
  reframe: () => new ArrayReframer(),
};

export { bareModel } from "./models.ts";
