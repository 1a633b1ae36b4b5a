import { runAtOnce } from "../base/heavy_work.ts";
import { soundTypes } from "../../contracts/media/speech.ts";
import { characters } from "../base/characters.ts";
import {
  likelySeconds,
  speech as spoken,
  speechBound,
  speechTokens,
} from "../dialects/media/operations/speech.ts";
import { readSpeechRequest, type SpeechBody } from "../dialects/media/speech/request.ts";
import type { EncodedSpeech, SpeechAsk, SpeechCodec } from "../dialects/kernel/speech_codec.ts";
import { optionCredentials } from "./option_credentials.ts";
import { optionsWork } from "../dialects/kernel/vendor_options.ts";
import { optionsFor, resolveMedia } from "../vendors/media_target.ts";
import type { Registry } from "../vendors/registry.ts";
import { askMedia } from "./operations.ts";
import type { CallContext } from "../relay/call_context.ts";
import { translationMode } from "../relay/plan/plan_call.ts";
import { lossHeader, type Reply } from "../relay/reply.ts";
import type {
  OperationAnswer,
  OperationContext,
  OperationListener,
  Operations,
} from "./operations.ts";
import { AudioReader } from "./audio.ts";
import { enforceTranslationMode } from "../relay/plan/translation.ts";

export interface SpeechRequest {
  caller: CallContext;
  body: SpeechBody;
  bodyText: string;
  /** The caller wants the file, not JSON. */
  isBinary: boolean;
}

export interface SpeechCall {
  request: SpeechRequest;
  codec: SpeechCodec;
  ask: SpeechAsk;
  encoded: EncodedSpeech;
  losses: readonly string[];
}

/** Handles `POST /tts/v1/generate`: speech by any vendor that supports it. */
export async function createSpeech(
  deps: { registry: Registry; operations: Operations },
  request: SpeechRequest,
): Promise<Reply> {
  const { caller, body, bodyText } = request;
  const { step = runAtOnce } = caller;
  const { target, codec, requestedModel } = resolveMedia(deps.registry, body, "speech");
  const options = optionsFor(deps.registry, target.vendor, body.provider_options);
  const ask = readSpeechRequest(body, { model: target.model, options });
  const encoded = codec.encode(ask);
  const losses = enforceTranslationMode(encoded.losses, translationMode(caller));
  const speechCall = { request, codec, ask, encoded, losses };
  return await deps.operations.run({
    caller,
    form: { ...spoken, credentialFields: optionCredentials },
    targets: [{ target, losses }],
    requestedModel,
    stream: ask.stream,
    endUser: ask.user,
    tags: ask.tags,
    requestText: bodyText,
    hosted: codec.hostedWork && optionsWork(await step.inSteps(() => codec.hostedWork!(options))),
    bound: speechBound(ask, ask.speed),
    likelyOutputTokens: speechTokens(
      likelySeconds(characters(ask.text), ask.speed),
      codec.tokensPerMinute,
    ),
  }, (ctx) => work(ctx, speechCall));
}

async function work(ctx: OperationContext, speechCall: SpeechCall): Promise<OperationAnswer> {
  const { encoded, ask, request } = speechCall;
  const answer = await askMedia(ctx, {
    path: encoded.path,
    contentType: "application/json",
    accept: "*/*",
    body: JSON.stringify(encoded.body),
    sameDialect: false,
  });
  const type = answer.headers["content-type"] ?? "";
  const sound = new AudioReader(ctx, speechCall, type);
  const isJson = /\bjson\b/i.test(type);
  if (ask.stream && !isJson) {
    const headers = headersOf(speechCall, soundType(encoded));
    return { status: 200, headers, body: answer.body, listener: listenerOf(sound) };
  }
  await sound.readWhole(await ctx.read(answer), isJson);
  const { json, file } = sound.finish();
  const isFile = request.isBinary || ask.stream;
  const headers = headersOf(speechCall, isFile ? soundType(encoded) : "application/json");
  return { status: 200, headers, body: isFile ? file : json, recordText: json };
}

/** Audio can't carry an error: if it breaks off, the caller's connection is broken off too. */
function listenerOf(sound: AudioReader): OperationListener {
  return {
    take: (piece) => sound.readPiece(piece),
    end: () => sound.end(),
    fail: () => undefined,
    settle: (isComplete) => sound.settle(isComplete),
  };
}

function headersOf(
  { ask, losses }: SpeechCall,
  contentType: string,
): Record<string, string> {
  return {
    "content-type": contentType,
    "x-audio-characters": String(characters(ask.text)),
    ...(losses.length > 0 ? { "x-translation-loss": lossHeader(losses) } : {}),
  };
}

function soundType({ format, sampleRate }: EncodedSpeech): string {
  if (format !== "pcm") return soundTypes[format];
  return `${soundTypes.pcm};rate=${sampleRate ?? 24_000};channels=1`;
}
