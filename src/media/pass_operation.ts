import { utf8Steps } from "../base/bytes.ts";
import { heavyUnits } from "../base/heavy_json.ts";
import { runAtOnce } from "../base/heavy_work.ts";
import type { FormPart } from "../base/multipart.ts";
import { JsonTextError } from "../base/parse_in_steps.ts";
import type { Steps } from "../base/steps.ts";
import { methodPath } from "../dialects/text/generate/models.ts";
import { embeddingLosses, textInputs } from "../dialects/media/operations/embeddings.ts";
import { hasMedia } from "../dialects/kernel/media_field.ts";
import type { AnswerReader, Operation } from "../dialects/kernel/operation.ts";
import {
  forVendor,
  type OperationRequest,
  parsedRecord,
  readOperation,
  recordSteps,
  type SentRequest,
} from "../dialects/kernel/operation_request.ts";
import { Fault } from "../shared/fault.ts";
import { boundInputTokens } from "../shared/token_estimate.ts";
import {
  carriesError,
  readVendorError,
  type VendorError,
} from "../dialects/kernel/vendor_error.ts";
import type { Media } from "../shared/media.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { EndpointMapping, Registry, Vendor } from "../vendors/registry.ts";
import type { UpstreamAnswer } from "../vendors/upstream.ts";
import { answerHeaders } from "../vendors/vendor_headers.ts";
import { chargesReport } from "../vendors/reported_cost.ts";
import { checkAnswerLimits, parseWithinLimits } from "../relay/answer_limits.ts";
import { type CallContext, stepFor } from "../relay/call_context.ts";
import { candidatesOf, type RoutingDeps } from "../relay/candidates.ts";
import { eachPossible } from "../relay/pipeline.ts";
import { usageBeforeBreak } from "./broken_answer.ts";
import { severalRequests } from "../pricing/pricing.ts";
import { maxBatch } from "../dialects/text/generate/operations/embeddings.ts";
import { embedInBatches } from "./embed_batches.ts";
import { translationMode } from "../relay/plan/plan_call.ts";
import { takeFiles } from "../records/answer_files.ts";
import {
  type AnswerFiles,
  externalizeFile,
  externalizeMediaSteps,
} from "../records/externalize_media.ts";
import {
  eventListener,
  type OperationAnswer,
  type OperationContext,
  type OperationListener,
  type Operations,
  type OperationTarget,
} from "./operations.ts";
import type { Reply } from "../relay/reply.ts";
import { enforceTranslationMode } from "../relay/plan/translation.ts";

/** A validated request on a vendor's own path. */
export interface PassedRequest {
  caller: CallContext;
  operation: Operation;
  /** The vendor of the called family; undefined in the unified family. */
  vendor: Vendor | undefined;
  sent: SentRequest;
}

export interface PassDeps extends RoutingDeps {
  registry: Registry;
  operations: Operations;
  /** Larger files are stored separately from the request's text. */
  mediaInlineBytes: number;
}

/**
 * Sends a request to its vendor unchanged, except for the model's name and tag lines, and returns the
 * answer unchanged: whole, as events or as bytes. A reader extracts the usage from it.
 */
export async function passOperation(
  deps: PassDeps,
  { caller, operation, vendor, sent }: PassedRequest,
): Promise<Reply> {
  const request = readOperation(sent, operation);
  const { model, endUser, endUserField } = request;
  const models = await candidatesOf(deps, caller, {
    ...{ vendor, model, endUser, endUserField },
    fallbacks: undefined,
  });
  const targets = await eachPossible(
    models,
    (target) => passedTarget(deps, { caller, operation, request }, target),
  );
  const formBytes = "form" in sent ? sent.form.bytes.length : 0;
  const record = await stepFor(formBytes, caller).inSteps(() =>
    recorded(request, deps.mediaInlineBytes)
  );
  const text = operation.countedText?.(request) ?? "";
  const { step = runAtOnce } = caller;
  const { hostedWork } = operation;
  const hosted = hostedWork && await step.inSteps(() => hostedWork(request.fields));
  const counted = await stepFor(text.length, caller).inSteps(() => boundInputTokens(text));
  return await deps.operations.run(
    {
      caller,
      form: operation,
      targets,
      requestedModel: model,
      stream: request.stream,
      endUser,
      tags: request.tags,
      ...record,
      hosted,
      bound: { ...operation.bound(request, counted), ...batchesOf(request, targets) },
    },
    (ctx, { path, losses }) =>
      path === undefined ? embedInBatches(ctx, request, losses) : pass(ctx, {
        ...{ caller, operation, request, path },
        inlineBytes: deps.mediaInlineBytes,
      }),
  );
}

/** The most vendor requests that one of the targets needs. */
function batchesOf({ fields }: OperationRequest, targets: readonly PassedTarget[]) {
  const inBatches = targets.some(({ path }) => path === undefined);
  return severalRequests(inBatches ? Math.ceil(textInputs(fields.input).length / maxBatch) : 1);
}

/** One model that may answer, and how its vendor is asked. */
interface PassedTarget extends OperationTarget {
  /** The vendor's path; undefined for a vendor with another dialect. */
  path: string | undefined;
  losses: readonly string[];
}

/**
 * Plans the request for one target. An invalid request is refused here, before the call begins, and
 * is not recorded as an interaction.
 */
async function passedTarget(
  { registry }: PassDeps,
  { caller, operation, request }: Omit<Passing, "path" | "inlineBytes">,
  target: ResolvedModel,
): Promise<PassedTarget> {
  const mapping = target.vendor.operations[operation.kind];
  if (!mapping) throw unsupportedOperation(registry, operation, target);
  const path = pathOf(mapping, target.model);
  if (path === undefined) return { target, path, losses: batchLosses(caller, request) };
  await stepFor(unitsOf(request), caller).inSteps(() =>
    forVendor(request, target.model, operation)
  );
  return { target, path, losses: [] };
}

/** A form isn't read again. */
function unitsOf({ sent }: OperationRequest): number {
  return "form" in sent ? 0 : sent.text.length;
}

/** Returns the path below the base URL; undefined for a vendor with another dialect. */
function pathOf(mapping: EndpointMapping, model: string): string | undefined {
  if ("path" in mapping) return mapping.path;
  return "method" in mapping ? methodPath(model, mapping.method) : undefined;
}

function* recorded(
  request: OperationRequest,
  inlineBytes: number,
): Steps<{ requestText: string; requestMedia: Media[] }> {
  const large = new Map<FormPart, { media: Media; named: unknown }>();
  for (const file of request.files) {
    if (file.content.length <= inlineBytes) continue;
    large.set(file, yield* externalizeFile(file.content, file.contentType));
  }
  return {
    requestText: yield* recordSteps(request, (file) => large.get(file)?.named),
    requestMedia: [...large.values()].map(({ media }) => media),
  };
}

/**
 * Returns the fields that a vendor of another dialect doesn't support; throws where the caller's
 * translation mode refuses them.
 */
function batchLosses(caller: CallContext, { fields }: OperationRequest): string[] {
  textInputs(fields.input);
  return enforceTranslationMode(embeddingLosses(fields), translationMode(caller));
}

interface Passing {
  caller: CallContext;
  operation: Operation;
  request: OperationRequest;
  path: string;
  /** See `PassDeps.mediaInlineBytes`. */
  inlineBytes: number;
}

async function pass(ctx: OperationContext, passing: Passing): Promise<OperationAnswer> {
  const { caller, operation, request, path } = passing;
  const { sent } = request;
  const { model } = ctx.vendorCall.target;
  const body = await stepFor(unitsOf(request), caller)
    .inSteps(() => forVendor(request, model, operation));
  const answer = await ctx.ask({
    path,
    contentType: "form" in sent ? sent.form.contentType : "application/json",
    accept: caller.header("accept") ?? "*/*",
    body,
    sameDialect: true,
  });
  const reader = operation.reader(request);
  const headers = answerHeaders(answer.headers);
  const type = answer.headers["content-type"] ?? "";
  if (/^text\/event-stream\b/i.test(type)) {
    const listener = readEvents(ctx, caller, reader);
    return { status: answer.status, headers, body: answer.body, listener };
  }
  if (isText(type)) return await wholeAnswer(ctx, { ...passing, reader }, answer, headers);
  const listener = byteListener(ctx, reader, type);
  return { status: answer.status, headers, body: answer.body, listener };
}

/** Whether the type is JSON or a format of transcripts. */
function isText(type: string): boolean {
  return type === "" || isJson(type) || /^text\/|\bsubrip\b/i.test(type);
}

function isJson(type: string): boolean {
  return /\bjson\b/i.test(type);
}

async function wholeAnswer(
  ctx: OperationContext,
  { operation, reader, inlineBytes }: Passing & { reader: AnswerReader },
  answer: UpstreamAnswer,
  headers: Record<string, string>,
): Promise<OperationAnswer> {
  const type = headers["content-type"] ?? "application/json";
  const body = await ctx.read(answer, (bytes) => {
    if (isJson(type)) reportBroken(ctx, reader, bytes, type);
  });
  const hasFiles = isJson(type) && operation.mediaFields.length > 0;
  const { text, files } = hasFiles
    ? await stepFor(body.length, ctx.vendorCall.caller).inSteps(() => takeFiles(body))
    : { text: await textOf(body, ctx.vendorCall.caller), files: new Map() as AnswerFiles };
  if (isJson(type) && text.length > heavyUnits && reader.json) {
    const step = stepFor(text.length, ctx.vendorCall.caller);
    reader.json(await step.inSteps(() => parsedOrNone(text, operation.maxValues)));
  } else {
    if (isJson(type)) checkAnswerLimits(text, operation.maxValues);
    const error = files.size === 0 ? errorIn(text, type, operation) : undefined;
    if (error) throw ctx.vendorCall.fault(error);
    reader.whole(text, type);
  }
  const settled = reportUsage(ctx, reader, true);
  const answered = { status: answer.status, headers, body };
  if (files.size === 0) return { ...answered, recordText: text, ...settled };
  const { mediaFields: fields } = operation;
  const recorded = await stepFor(text.length, ctx.vendorCall.caller).inSteps(() =>
    externalizeMediaSteps(text, { inlineBytes, fields, files })
  );
  return { ...answered, recordText: recorded.text, recordMedia: recorded.media, ...settled };
}

function textOf(body: Uint8Array, caller: CallContext): Promise<string> {
  return stepFor(body.length, caller).inSteps(() => utf8Steps(body));
}

/** Returns undefined for a text that isn't JSON. */
function* parsedOrNone(text: string, maxValues: number | undefined): Steps<unknown> {
  try {
    return yield* parseWithinLimits(text, maxValues);
  } catch (thrown) {
    if (thrown instanceof JsonTextError) return undefined;
    throw thrown;
  }
}

function reportBroken(
  { meter, vendorCall }: OperationContext,
  reader: AnswerReader,
  bytes: Uint8Array,
  type: string,
): void {
  const { price, target } = vendorCall;
  const usage = usageBeforeBreak(bytes, vendorCall, (members) => {
    reader.whole(JSON.stringify(members), type);
    const outcome = reader.outcome({
      ...{ isComplete: true, price },
      ignoresCost: !chargesReport(target.vendor, price),
    });
    return outcome?.basis === "reported" ? outcome.usage : undefined;
  });
  if (usage) meter.report(usage, "reported");
}

/** Longer texts are not checked for an error. */
const maxErrorUnits = 64 * 1024;

/**
 * Some hosts and aggregators send errors with status 200. Media are an answer, whatever stands
 * beside them.
 */
function errorIn(
  text: string,
  contentType: string,
  { mediaFields }: Pick<Operation, "mediaFields">,
): VendorError | undefined {
  if (text.length > maxErrorUnits || !isJson(contentType)) return undefined;
  const answer = parsedRecord(text);
  if (!answer || !carriesError(answer) || hasMedia(answer, mediaFields)) return undefined;
  return readVendorError(answer, undefined);
}

/** Reports the usage to the meter, and returns the rest for the record. */
function reportUsage(
  ctx: OperationContext,
  reader: AnswerReader,
  isComplete: boolean,
): { recordText?: string; isTruncated?: boolean } {
  const { price, target: { vendor } } = ctx.vendorCall;
  const outcome = reader.outcome({ isComplete, price, ignoresCost: !chargesReport(vendor, price) });
  if (!outcome) return {};
  const { usage, basis, finish, recordText, isTruncated } = outcome;
  ctx.meter.report(usage, basis, finish ?? (isComplete ? "stop" : undefined));
  return {
    ...(recordText === undefined ? {} : { recordText }),
    ...(isTruncated === undefined ? {} : { isTruncated }),
  };
}

/**
 * Forwards audio, which can't carry an error: if it breaks off, the connection is broken off too.
 */
function byteListener(
  ctx: OperationContext,
  reader: AnswerReader,
  type: string,
): OperationListener {
  return {
    take(piece) {
      reader.bytes(piece, type);
      return { bytes: piece };
    },
    end: () => undefined,
    fail: () => undefined,
    settle: (isComplete) => reportUsage(ctx, reader, isComplete),
  };
}

function readEvents(ctx: OperationContext, caller: CallContext, reader: AnswerReader) {
  let isEnded = false;
  let mayEndHere = false;
  return eventListener(caller.requestId, {
    read(event) {
      const { error, ...progress } = reader.event(event);
      isEnded ||= progress.isLast === true;
      mayEndHere ||= progress.isComplete === true;
      return error && ctx.vendorCall.fault(error);
    },
    isLast: () => isEnded,
    isWhole: () => isEnded || mayEndHere,
    settle: (isComplete) => reportUsage(ctx, reader, isComplete),
  });
}

function unsupportedOperation(
  registry: Registry,
  { kind, name }: Operation,
  target: ResolvedModel,
): Fault {
  const who = registry.all.filter(({ operations }) => operations[kind]).map(({ label }) => label);
  return new Fault("model_not_found", {
    param: "model",
    message: `model: ${target.vendor.label} does not offer ${name} here; vendors that do: ${
      who.join(", ")
    }.`,
  });
}
