/** `POST /audio/speech`, `/audio/transcriptions` and `/audio/translations`, as vendor-b has them. */
import { readBehaviours, withoutMagicWords } from "./behaviours.ts";
import { eventStream, pieceStream } from "./event_stream.ts";
import { admit, bodyOf, type Exchange, formOf } from "./exchange.ts";
import { asNumber, asText, type JsonObject } from "./json.ts";
import { toBase64 } from "./media.ts";
import { invalid, require } from "./openai_problems.ts";
import { Problem } from "./problem.ts";
import { type Rule } from "./rules.ts";
import { CONTENT_TYPES, sound, type SoundFormat } from "./samples/mod.ts";
import { countTokens } from "./tokens.ts";

const FORMATS = Object.keys(CONTENT_TYPES);
const VOICES = ["alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage"]
  .concat(["shimmer", "verse", "marin", "cedar"]);
const SPEECH_MODELS = ["tts-1", "tts-1-hd", "gpt-4o-mini-tts"];
const HEARING_MODELS = ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"]
  .concat(["gpt-4o-transcribe-diarize", "gpt-transcribe"]);

const SPEECH_FIELDS: Readonly<Record<string, Rule>> = {
  model: { is: "string", required: true },
  input: { is: "string", required: true },
  voice: { is: ["string", "object"], required: true },
  instructions: { is: "string" },
  response_format: { is: "string", oneOf: FORMATS },
  speed: { is: "number", min: 0.25, max: 4 },
  stream_format: { is: "string", oneOf: ["audio", "sse"] },
};

const PIECE_BYTES = 8 * 1024;

export async function speech(exchange: Exchange): Promise<Response> {
  const body = require(bodyOf(exchange), SPEECH_FIELDS, "", true);
  const [model, input] = [requireModel(asText(body.model), SPEECH_MODELS), asText(body.input)];
  const behaviours = readBehaviours(input, exchange.state.label);
  if (typeof body.voice === "string" && !VOICES.includes(body.voice)) {
    const names = VOICES.map((voice) => `'${voice}'`).join(", ");
    throw invalid(
      "voice",
      "invalid_value",
      `Invalid value: '${body.voice}'. Supported values are: ${names}.`,
    );
  }
  if ([...input].length > 4096) {
    throw invalid(
      "input",
      "string_too_long",
      "Invalid 'input': string too long. Expected a string with maximum length 4096.",
    );
  }
  const isOld = model.startsWith("tts-1");
  if (isOld && (body.instructions !== undefined || body.stream_format === "sse")) {
    const field = body.instructions === undefined ? "stream_format" : "instructions";
    throw invalid(field, "unsupported_parameter", `'${field}' is not supported with this model.`);
  }
  await admit(exchange, behaviours, input);
  const format = asText(body.response_format, "mp3") as SoundFormat;
  const said = withoutMagicWords(input) || "nothing";
  const seconds = behaviours.longChunks ?? ([...said].length / 14 / (asNumber(body.speed) ?? 1));
  const pieces = piecesOf(sound(format, seconds, said));
  if (body.stream_format !== "sse") {
    return pieceStream(exchange, behaviours, CONTENT_TYPES[format], pieces);
  }
  const [inputTokens, outputTokens] = [countTokens(said), Math.round(seconds * 1250 / 60)];
  return eventStream(exchange, behaviours, [
    ...pieces.map((piece) => ({ type: "speech.audio.delta", audio: toBase64(piece) })),
    {
      type: "speech.audio.done",
      usage: {
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
      },
    },
  ]);
}

function piecesOf(file: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < file.length; at += PIECE_BYTES) {
    pieces.push(file.subarray(at, at + PIECE_BYTES));
  }
  return pieces;
}

/** What a form asks for, once it is admitted. */
async function heard(exchange: Exchange, models: readonly string[], what = "I heard") {
  const form = await formOf(exchange);
  const file = form.get("file");
  const model = asText(form.get("model"));
  if (model === "") throw missing("model");
  requireModel(model, models);
  if (!(file instanceof File)) throw missing("file");
  if (file.size < 32) {
    throw new Problem(400, "Audio file might be corrupted or unsupported", {
      code: "invalid_value",
      param: "file",
    });
  }
  const prompt = asText(form.get("prompt"));
  const behaviours = readBehaviours(prompt, exchange.state.label);
  await admit(exchange, behaviours, prompt);
  // The transcript is the file's name, size and type.
  const text = behaviours.say ?? `${what} ${file.name}, ${file.size} bytes of ${file.type}.`;
  const format = asText(form.get("response_format"), "json");
  return { form, model, prompt, behaviours, text, format, seconds: Math.ceil(file.size / 16_000) };
}

export async function translations(exchange: Exchange): Promise<Response> {
  const { text, format, seconds } = await heard(exchange, ["whisper-1"], "I heard in English");
  return transcript(format, { task: "translate", text, seconds });
}

export async function transcriptions(exchange: Exchange): Promise<Response> {
  const { form, model, prompt, behaviours, text, format, seconds } = await heard(
    exchange,
    HEARING_MODELS,
  );
  const usage = model === "whisper-1" || model === "gpt-transcribe"
    ? { type: "duration", seconds }
    : tokenUsage(seconds, prompt, text);
  if (form.get("stream") === "true" && model !== "whisper-1") {
    return eventStream(exchange, behaviours, [
      ...(text.match(/\S+\s*/g) ?? []).map((delta) => ({ type: "transcript.text.delta", delta })),
      { type: "transcript.text.done", text, usage },
    ]);
  }
  const diarizes = model === "gpt-4o-transcribe-diarize";
  if (diarizes && format === "diarized_json") {
    const said = { id: "seg_0", type: "transcript.text.segment", start: 0, end: seconds };
    const segments = [{ ...said, speaker: "A", text }];
    return Response.json({ task: "transcribe", duration: seconds, text, segments, usage });
  }
  return transcript(format, { text, seconds, usage });
}

function transcript(
  format: string,
  { task = "transcribe", text, seconds, usage }: {
    task?: string;
    text: string;
    seconds: number;
    usage?: JsonObject;
  },
): Response {
  const end = `00:00:${String(Math.min(59, seconds)).padStart(2, "0")}`;
  const plain = (body: string) =>
    new Response(body, { headers: { "content-type": "text/plain; charset=utf-8" } });
  switch (format) {
    case "json":
      return Response.json({ text, usage });
    case "verbose_json":
      return Response.json({
        task,
        language: "english",
        duration: seconds,
        text,
        usage,
      });
    case "text":
      return plain(`${text}\n`);
    case "srt":
      return plain(`1\n00:00:00,000 --> ${end},000\n${text}\n\n`);
    case "vtt":
      return plain(`WEBVTT\n\n00:00:00.000 --> ${end}.000\n${text}\n\n`);
    default:
      throw invalid("response_format", "invalid_value", `Invalid value: '${format}'.`);
  }
}

function tokenUsage(seconds: number, prompt: string, text: string): JsonObject {
  const [audio, words, output] = [seconds * 10, countTokens(prompt), countTokens(text)];
  return {
    type: "tokens",
    input_tokens: audio + words,
    input_token_details: { text_tokens: words, audio_tokens: audio },
    output_tokens: output,
    total_tokens: audio + words + output,
  };
}

function requireModel(model: string, models: readonly string[]): string {
  if (models.includes(model)) return model;
  throw new Problem(404, `The model '${model}' does not exist.`, {
    code: "model_not_found",
    param: "model",
  });
}

function missing(field: string): Problem {
  return invalid(field, "missing_required_parameter", `Missing required parameter: '${field}'.`);
}
