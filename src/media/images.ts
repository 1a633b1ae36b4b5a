import { runAtOnce } from "../base/heavy_work.ts";
import { Buffer } from "node:buffer";
import { released } from "../base/gc_hint.ts";
import { formBody } from "../base/multipart.ts";
import { maskSecrets } from "../base/secret.ts";
import {
  addressField,
  type ImageBody,
  readImageRequest,
} from "../dialects/media/images/request.ts";
import { isRecord } from "../dialects/kernel/json.ts";
import type {
  EncodedImages,
  GeneratedImage,
  ImageAnswer,
  ImageAsk,
  ImageCall,
  ImageCodec,
} from "../dialects/kernel/image_codec.ts";
import { optionCredentials } from "./option_credentials.ts";
import { optionsWork } from "../dialects/kernel/vendor_options.ts";
import { carriesError, readVendorError } from "../dialects/kernel/vendor_error.ts";
import { imageGenerations } from "../dialects/media/operations/images.ts";
import { inputTokenBounds, maxImageTokens } from "../shared/token_estimate.ts";
import { type BillableUsage, severalRequests } from "../pricing/pricing.ts";
import { Fault, unreadableAnswer } from "../shared/fault.ts";
import type { PooledKey } from "../vendors/key_pool.ts";
import { isAbort, type UpstreamAnswer } from "../vendors/upstream.ts";
import { optionsFor, resolveMedia } from "../vendors/media_target.ts";
import type { FetchCaller, PublicFetch } from "../vendors/public_fetch.ts";
import type { Registry } from "../vendors/registry.ts";
import { chargesReport } from "../vendors/reported_cost.ts";
import type { VendorRequest } from "../relay/vendor_call.ts";
import { takeFiles } from "../records/answer_files.ts";
import { refuseUnrecorded } from "../relay/record_mode.ts";
import { type CallContext, stepFor } from "../relay/call_context.ts";
import { cancelSignal } from "../relay/drained_call.ts";
import { parseAnswerInTurns } from "../relay/text_answer.ts";
import { usageBeforeBreak } from "./broken_answer.ts";
import { fetchGeneratedImages } from "./fetch_generated_images.ts";
import { imageAnswer } from "./image_answer.ts";
import { imageStream } from "./image_stream.ts";
import { type BillableImages, imageUsage, likelyImageTokens } from "./image_usage.ts";
import { translationMode } from "../relay/plan/plan_call.ts";
import { lossHeader, type Reply } from "../relay/reply.ts";
import { askMedia } from "./operations.ts";
import { costOfCall } from "./operations.ts";
import type { OperationAnswer, OperationContext, Operations } from "./operations.ts";
import { inlineReferences } from "./inline_reference_images.ts";
import { enforceTranslationMode } from "../relay/plan/translation.ts";

export interface ImagesRequest {
  caller: CallContext;
  body: ImageBody;
  bodyText: string;
  /** The signed URL of a file of the caller's account, by its hash. */
  addressOf: (sha256: string) => string;
}

export interface ImagesDeps {
  registry: Registry;
  operations: Operations;
  publicFetch: PublicFetch;
  /** Fetches URLs from vendors, which may be on the operator's own network. */
  vendorFetch: PublicFetch;
  /** The record has larger images by their hash. */
  mediaInlineBytes: number;
}

export interface ImageGeneration {
  request: ImagesRequest;
  codec: ImageCodec;
  ask: ImageAsk;
  encoded: EncodedImages;
  losses: readonly string[];
  vendorFetch: PublicFetch;
  mediaInlineBytes: number;
}

/** Handles `POST /imagen/v1/generate`: images by any vendor that supports it. */
export async function createImages(deps: ImagesDeps, request: ImagesRequest): Promise<Reply> {
  const { caller, body, bodyText } = request;
  const { step = runAtOnce } = caller;
  const { target, codec, requestedModel } = resolveMedia(deps.registry, body, "images");
  const options = optionsFor(deps.registry, target.vendor, body.provider_options);
  const asked = readImageRequest(body, { model: target.model, options });
  if (asked.asAddress) {
    refuseUnrecorded(caller, addressField, "'url' needs the image to be stored");
  }
  // Validate the request before anything is fetched.
  const encoded = codec.encode(asked);
  const losses = enforceTranslationMode(encoded.losses, translationMode(caller));
  const { vendorFetch, publicFetch, mediaInlineBytes } = deps;
  let generation: ImageGeneration = {
    ...{ request, codec, ask: asked, encoded, losses, vendorFetch, mediaInlineBytes },
  };
  const fetch = async () => {
    const references = await inlineReferences(
      asked.references,
      publicFetch,
      fetchCaller(caller, caller.signal),
    );
    const ask = { ...asked, references };
    generation = { ...generation, ask, encoded: codec.encode(ask) };
  };
  const mustFetch = !codec.takesAddresses && asked.references.some(({ type }) => type !== "base64");
  return await deps.operations.run({
    caller,
    form: { ...imageGenerations, credentialFields: optionCredentials },
    targets: [{ target, losses }],
    requestedModel,
    stream: asked.stream,
    endUser: asked.user,
    tags: asked.tags,
    requestText: bodyText,
    hosted: codec.hostedWork && optionsWork(await step.inSteps(() => codec.hostedWork!(options))),
    bound: boundOf(generation),
    likelyOutputTokens: likelyImageTokens(asked, encoded),
    fetch: mustFetch ? fetch : undefined,
  }, (ctx) => work(ctx, generation));
}

function fetchCaller(
  { principal }: ImagesRequest["caller"],
  signal: AbortSignal,
): FetchCaller {
  return { key: String(principal.account.id), signal };
}

/** Returns the upper bound of the usage of all vendor requests together. */
function boundOf({ ask, encoded }: ImageGeneration) {
  const text = `${ask.prompt} ${ask.negativePrompt ?? ""} ${JSON.stringify(ask.options)}`;
  const { inputTokens, believedInputTokens } = inputTokenBounds(text);
  const references = ask.references.length * maxImageTokens;
  return {
    inputTokens: (inputTokens + references) * encoded.calls.length,
    believedInputTokens: (believedInputTokens + references) * encoded.calls.length,
    maxOutputTokens: encoded.tokensPerImage,
    choices: ask.count,
    images: [{ ...encoded.priced, count: ask.count }],
    ...severalRequests(encoded.calls.length),
  };
}

async function work(ctx: OperationContext, generation: ImageGeneration): Promise<OperationAnswer> {
  const { encoded, codec } = generation;
  const [first] = encoded.calls;
  if (generation.ask.stream && codec.stream && first) {
    const answer = await askMedia(ctx, requestOf(ctx, first, 0, "text/event-stream"));
    if (/\bevent-stream\b/i.test(answer.headers["content-type"] ?? "")) {
      return imageStream(ctx, generation, codec.stream, answer);
    }
    const brokenOff = (usage: BillableUsage | undefined) => {
      reportImages(ctx, generation, [{ count: first.count, usage, isBroken: true }]);
    };
    const answers = [await readAnswer(ctx, generation, answer, brokenOff)];
    return await wholeAnswer(ctx, generation, { answers, broken: [] });
  }
  return await wholeAnswer(ctx, generation, await askAll(ctx, generation));
}

/** The results of a call's vendor requests. */
interface Answers {
  answers: readonly ImageAnswer[];
  /** Pictures of answers that broke off: they were drawn, and are billed. */
  broken: readonly BillableImages[];
}

/** Concurrent vendor requests of one call. */
const maxAtOnce = 4;

/**
 * Makes all vendor requests and returns the successful answers; if all fail, throws the first
 * error.
 */
async function askAll(ctx: OperationContext, generation: ImageGeneration): Promise<Answers> {
  const { calls } = generation.encoded;
  const answers: ImageAnswer[] = [];
  const broken: BillableImages[] = [];
  const failures: { thrown: unknown; key: PooledKey | undefined }[] = [];
  const left = [...calls.entries()];
  const worker = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [index, call] = next;
      let answer: UpstreamAnswer | undefined;
      try {
        answer = await askMedia(ctx, requestOf(ctx, call, index, "application/json"));
        answers[index] = await readAnswer(ctx, generation, answer, (usage) => {
          broken.push({ count: call.count, usage, isBroken: true });
        });
        // If the caller leaves before the other answers come, the vendor still bills these images.
        reportImages(ctx, generation, billableIn(answers));
      } catch (thrown) {
        if (isAbort(thrown)) throw thrown;
        failures.push({ thrown, key: answer?.key });
      }
    }
  };
  const workers = Array.from({ length: Math.min(maxAtOnce, left.length) }, worker);
  const stopped = (await Promise.allSettled(workers)).find(({ status }) => status === "rejected");
  const billable = billableIn(answers);
  // If the caller left before one of several answers was complete, nothing is reported here: the
  // call is then charged for all pictures that were asked for (`usageAskedFor`).
  if (broken.length > 0 && (!stopped || billable.length > 0 || calls.length === 1)) {
    reportImages(ctx, generation, [...billable, ...broken]);
  }
  if (stopped) throw (stopped as PromiseRejectedResult).reason;
  const made = answers.filter((answer) => answer !== undefined);
  const [failure] = failures;
  if (made.length > 0 || !failure) {
    for (const { thrown, key } of failures) {
      ctx.vendorCall.answeringKey = key;
      if (thrown instanceof Fault) ctx.vendorCall.restAnsweringKey(thrown);
    }
    return { answers: made, broken };
  }
  // The latest answer may belong to another request, with another key.
  ctx.vendorCall.answeringKey = failure.key;
  throw failure.thrown;
}

function requestOf(
  ctx: OperationContext,
  { path, body }: ImageCall,
  index: number,
  accept: string,
): VendorRequest {
  if (body.type === "json") {
    const text = JSON.stringify(body.value);
    return { path, contentType: "application/json", accept, body: text, sameDialect: false };
  }
  const fields = body.parts.map((part) =>
    "text" in part ? part : { ...part, content: Buffer.from(part.data, "base64") }
  );
  const boundary = `${ctx.vendorCall.transactionId.replaceAll("-", "")}${index}`;
  const { contentType, pieces } = formBody(fields, boundary);
  return { path, contentType, accept, body: pieces, sameDialect: false };
}

/** `brokenOff` gets the usage that was reported in an answer that breaks off. */
async function readAnswer(
  ctx: OperationContext,
  { codec }: ImageGeneration,
  answer: UpstreamAnswer,
  brokenOff: (usage: BillableUsage | undefined) => void,
): Promise<ImageAnswer> {
  const bytes = await ctx.read(answer, (part) => {
    if (part.length === 0) return;
    brokenOff(usageBeforeBreak(part, ctx.vendorCall, (members) => codec.decode(members).usage));
  });
  // Some hosts of open models return the file itself.
  if (/^image\//i.test(answer.headers["content-type"] ?? "")) {
    if (bytes.length === 0) throw unreadableAnswer("an empty file");
    return { images: [{ bytes }] };
  }
  const { caller } = ctx.vendorCall;
  const { text, files } = await stepFor(bytes.length, caller).inSteps(() => takeFiles(bytes));
  released(bytes);
  const json = await parseAnswerInTurns(text, caller);
  const decoded = decodedAnswer(ctx, codec, json);
  const images = decoded.images.map((image) => ({ ...image, file: files.get(image.data ?? "") }));
  return { ...decoded, images };
}

/**
 * Some hosts and aggregators send errors with status 200. Images are an answer, whatever stands
 * beside them.
 */
function decodedAnswer(ctx: OperationContext, codec: ImageCodec, json: unknown): ImageAnswer {
  if (!isRecord(json) || !carriesError(json)) return codec.decode(json);
  try {
    const decoded = codec.decode(json);
    if (decoded.images.length > 0) return decoded;
  } catch {
    // It has no list of images.
  }
  throw ctx.vendorCall.fault(readVendorError(json, undefined));
}

/** Throws if the answers have no image. */
async function wholeAnswer(
  ctx: OperationContext,
  generation: ImageGeneration,
  { answers, broken }: Answers,
): Promise<OperationAnswer> {
  const { request, ask, losses, vendorFetch: fetch } = generation;
  const generated: GeneratedImage[] = answers.flatMap((answer) => answer.images);
  // The images were generated, and are billed, even if they can't be fetched.
  const { usage, basis } = reportImages(ctx, generation, [...billableIn(answers), ...broken]);
  if (generated.length === 0) throw noImages(answers);
  const caller = fetchCaller(request.caller, cancelSignal(request.caller));
  const images = await fetchGeneratedImages(generated, { fetch, caller, asAddress: ask.asAddress });
  ctx.meter.report(usage, basis, "stop");
  const units = images.reduce(
    (sum, { data = "", file, bytes = file?.content ?? data }) => sum + bytes.length,
    0,
  );
  const step = stepFor(units, ctx.vendorCall.caller);
  const written = await step.inSteps(() =>
    imageAnswer({
      created: Math.floor(request.caller.arrivedAt.getTime() / 1000),
      provider: ctx.vendorCall.target.vendor.label,
      model: ctx.vendorCall.target.model,
      images,
      missing: Math.max(0, ask.count - images.length),
      usage,
      costNanos: costOfCall(ctx),
    }, {
      addressOf: ask.asAddress ? request.addressOf : undefined,
      inlineBytes: generation.mediaInlineBytes,
    })
  );
  return {
    status: 200,
    headers: {
      "content-type": "application/json",
      ...(losses.length > 0 ? { "x-translation-loss": lossHeader(losses) } : {}),
    },
    ...written,
  };
}

/** Reports the usage of these pictures; without any, the call costs nothing. */
function reportImages(
  { meter, vendorCall: { price, target: { vendor } } }: OperationContext,
  generation: ImageGeneration,
  billable: readonly BillableImages[],
): ReturnType<typeof imageUsage> {
  const counted = imageUsage(billable, {
    ...generation,
    price,
    ignoresCost: !chargesReport(vendor, price),
  });
  if (billable.length > 0) meter.report(counted.usage, counted.basis);
  return counted;
}

/** Returns the answers that have pictures; the others cost nothing. */
function billableIn(answers: readonly ImageAnswer[]): BillableImages[] {
  // The list has a hole for an answer that hasn't come yet; `filter` skips it.
  return answers.filter(({ images }) => images.length > 0)
    .map(({ images, usage }) => ({ count: images.length, usage }));
}

/**
 * Returns a content policy violation with the vendor's text, else an error that a retry may fix.
 */
function noImages(answers: readonly ImageAnswer[]): Fault {
  const refusal = answers.map((answer) => answer.refusal).find((one) => one !== undefined);
  if (refusal !== undefined) {
    return new Fault("content_policy_violation", {
      param: "prompt",
      message: `The vendor withheld all images: ${maskSecrets(refusal).slice(0, 1000)}`,
    });
  }
  const note = answers.map((answer) => answer.failure).find((one) => one !== undefined);
  return new Fault("upstream_error", {
    message: "The model returned no image. Try again, or rephrase the prompt.",
    note: note ?? "an answer without images",
  });
}
