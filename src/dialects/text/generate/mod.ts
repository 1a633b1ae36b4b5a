import type { Dialect } from "../../kernel/dialect.ts";
import type { Translator } from "../../kernel/translator.ts";
import {
  countedRequest,
  countTokensBody,
  readTokenCount,
  writeTokenCount,
} from "./count_tokens.ts";
import { decodeGenerateAnswer } from "./answer.ts";
import { decodeGenerateRequest, decodeGenerateSteps } from "./decode_request.ts";
import { encodeGenerateAnswer, encodeWhole } from "./encode_answer.ts";
import { encodeGenerateRequest, encodeGenerateSteps } from "./encode_request.ts";
import { readGenerateRequest, spliceGenerateRequest, spliceGenerateSteps } from "./facts.ts";
import { staysAddress } from "./file_address.ts";
import { ArrayReframer, failedStream, sseFraming } from "./framing.ts";
import { countTokensPath, generatePath } from "./path.ts";
import { GenerateStreamDecoder } from "./stream_decoder.ts";
import { GenerateStreamEncoder } from "./stream_encoder.ts";
import { hostedWork } from "./hosted.ts";
import { generateMediaFields } from "./media_fields.ts";

/**
 * Native content generation (protocols/generate-content.md). Model and streaming stand in the path
 * of this dialect: `readRequest` and `decodeRequest` take the JSON body with the members `model` and
 * `stream` added, and `encodeRequest` gives a body without them.
 */
export const generate: Dialect & Translator = {
  name: "generate",
  mediaFields: generateMediaFields,
  answerFields: ["generationConfig", "generation_config", "model", "tools"],
  usageMember: "usageMetadata",
  readRequest: readGenerateRequest,
  spliceRequest: spliceGenerateRequest,
  hostedWork,
  spliceSteps: spliceGenerateSteps,
  upstreamPath: generatePath,
  streamDecoder: () => new GenerateStreamDecoder(),
  decodeAnswer: decodeGenerateAnswer,
  encodeAnswer: encodeGenerateAnswer,
  errorFrame: (fault) => failedStream(sseFraming, fault),
  reframe: () => new ArrayReframer(),
  asking: { modelInPath: true, streaming: [], drop: [], set: [] },
  counting: {
    path: countTokensPath,
    requestBody: countTokensBody,
    read: readTokenCount,
    counted: countedRequest,
    write: writeTokenCount,
  },
  needsInline: (_part, url) => !staysAddress(url),
  decodeRequest: decodeGenerateRequest,
  decodeSteps: decodeGenerateSteps,
  encodeRequest: encodeGenerateRequest,
  encodeSteps: encodeGenerateSteps,
  encodeWhole,
  streamEncoder: (context) => new GenerateStreamEncoder(context),
};

export { bareModel } from "./models.ts";
