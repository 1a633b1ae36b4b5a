import { z } from "@hono/zod-openapi";
import { optional } from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { speechEvent, transcriptEvent } from "./media_stream.ts";
import { endUser, formFile, operationModel, operationPath } from "./operation_paths.ts";
import { summaryOf, type VendorFamily } from "../calls/vendors.ts";

/** Many hours of speech, and far more than vendors take. */
const maxSpokenUnits = 1024 * 1024;

const speechRequest = z.looseObject({
  model: operationModel.openapi({ example: "gpt-4o-mini-tts" }),
  input: z.string().min(1).max(maxSpokenUnits).describe(
    "Text to speak. Tag lines at its start are recorded and removed.",
  ),
  voice: z.unknown().optional().describe("Name of a voice of the vendor, or `{id}`."),
  instructions: optional(z.string()).describe("Delivery instructions."),
  response_format: optional(z.string()).describe(
    "`mp3`, `opus`, `aac`, `flac`, `wav` or `pcm`. Default `mp3`.",
  ),
  speed: optional(z.number().min(0.25).max(4)).describe("0.25 to 4 times as fast. Default 1."),
  stream_format: optional(z.enum(["audio", "sse"])).describe(
    "`sse`: server-sent events with the audio as base64. Default `audio`.",
  ),
  user: endUser,
}).openapi("VendorSpeechRequest");

const sound = z.string().openapi({ format: "binary" }).describe("The audio, as it is generated.");

/** The vendors' names of formats; raw samples and Opus have two names. */
const soundTypes = ["mpeg", "ogg", "opus", "aac", "flac", "wav", "pcm", "L16"] as const;

/** `POST …/audio/speech` of one vendor's family; the sound is streamed. */
export function familySpeech(family: VendorFamily) {
  return defineContract({
    ...operationPath(family, "audio/speech", "createSpeech"),
    summary: summaryOf("Create speech", family),
    description:
      "Text to speech, as the vendor takes it; fields not listed here are passed on unchanged. Audio is streamed as it arrives; if the vendor's answer is cut off, the connection is closed.",
    body: speechRequest,
    media: {
      ...Object.fromEntries(soundTypes.map((type) => [`audio/${type}`, sound])),
      "text/event-stream": speechEvent,
    },
  });
}

const transcriptionForm = z.looseObject({
  model: operationModel.openapi({ example: "gpt-4o-transcribe" }),
  file: formFile.describe("Audio file in a format that the vendor supports."),
  language: optional(z.string()).describe("Language of the audio, as ISO 639-1."),
  prompt: optional(z.string()).describe("Preceding text, to guide style and spelling."),
  response_format: optional(z.string()).describe(
    "`json`, `text`, `srt`, `verbose_json`, `vtt` or `diarized_json`. Default `json`.",
  ),
  stream: optional(z.enum(["true", "false"])).describe(
    "Answer as server-sent events. Default `false`.",
  ),
}).openapi("TranscriptionForm");

const transcript = z.looseObject({
  text: z.string().optional().describe("Transcript."),
  usage: z.looseObject({
    type: z.string().optional().describe("`tokens` or `duration`."),
  }).optional().describe("Tokens or seconds."),
}).openapi("Transcript");

/** `POST …/audio/transcriptions` of one vendor's family: a form with a file. */
export function familyTranscriptions(family: VendorFamily) {
  return defineContract({
    ...operationPath(family, "audio/transcriptions", "createTranscription"),
    summary: summaryOf("Transcribe speech to text", family),
    description: "As the vendor takes it; fields not listed here are passed on unchanged.",
    form: transcriptionForm,
    answer: transcript,
    media: {
      "text/plain": z.string().describe("With `response_format` `text`, `srt` or `vtt`."),
      "text/event-stream": transcriptEvent,
    },
  });
}

const translationForm = z.looseObject({
  model: operationModel.openapi({ example: "whisper-1" }),
  file: formFile.describe("Audio file in a format that the vendor supports."),
  prompt: optional(z.string()).describe("Preceding text in English, to guide style and spelling."),
  response_format: optional(z.string()).describe(
    "`json`, `text`, `srt`, `verbose_json` or `vtt`. Default `json`.",
  ),
}).openapi("TranslationForm");

/** `POST …/audio/translations` of one vendor's family: a form with a file. */
export function familyTranslations(family: VendorFamily) {
  return defineContract({
    ...operationPath(family, "audio/translations", "createTranslation"),
    summary: summaryOf("Translate speech to English text", family),
    description: "As the vendor takes it; fields not listed here are passed on unchanged.",
    form: translationForm,
    answer: transcript,
    media: {
      "text/plain": z.string().describe("With `response_format` `text`, `srt` or `vtt`."),
    },
  });
}
