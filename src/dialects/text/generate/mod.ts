import type { Dialect } from "../../kernel/dialect.ts";
import type { Translator } from "../../kernel/translator.ts";
import {
  countedRequest,
  countTokensBody,
  readTokenCount,
  writeTokenCount,
} from "./counting.ts";
import { decodeGenerateAnswer } from "./answer_decoder.ts";
import { decodeGenerateRequest, decodeGenerateSteps } from "./request_decoder.ts";
import { encodeGenerateAnswer, encodeWhole } from "./answer_encoder.ts";
import { encodeGenerateRequest, encodeGenerateSteps } from "./request_encoder.ts";
import { readGenerateRequest, spliceGenerateRequest, spliceGenerateSteps } from "./splice.ts";
import { staysAddress } from "./file_address.ts";
import { ArrayReframer, failedStream, sseFraming } from "./answer/framing.ts";
import { countTokensPath, generatePath } from "./path.ts";
import { GenerateStreamDecoder } from "./stream_decoder.ts";
import { GenerateStreamEncoder } from "./stream_encoder.ts";
import { hostedWork } from "./hosted.ts";
import { generateMediaFields } from "./media.ts";

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
