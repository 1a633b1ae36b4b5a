import { errors } from "../../contracts/errors.ts";
import { isAbort, type Upstream, type UpstreamAnswer } from "../vendors/upstream.ts";
import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import type { Dialect, RequestFacts } from "../dialects/dialect.ts";
import { readVendorError } from "../dialects/vendor_error.ts";
import type { ApiKey } from "../domain/api_key.ts";
import { Fault, messageOf } from "../domain/fault.ts";
import type { Mode } from "../domain/interaction.ts";
import { type Catalogue, notConfigured } from "../vendors/catalogue.ts";
import { type ResolvedModel, resolveOnFamily, resolveUnified } from "../vendors/model_name.ts";
import type { Registry, Vendor } from "../vendors/registry.ts";
import { retryAfterMs } from "../vendors/upstream_retry.ts";
import { answerHeaders, vendorHeaders } from "../vendors/vendor_headers.ts";
import { Call, type CallParts, type Ending } from "./call.ts";
import type { Caller } from "./caller.ts";
import type { Reply } from "./reply.ts";
import { forwardStream, StreamFailure } from "./stream_forwarder.ts";
import { vendorFault } from "./vendor_fault.ts";

/** One proxied request, validated by its contract. */
export interface RelayRequest {
  caller: Caller;
  /** The caller's dialect. */
  dialect: Dialect;
  /** The vendor whose family was called; undefined on the unified family. */
  vendor: Vendor | undefined;
  body: unknown;
  /** The body as the caller wrote it. */
  bodyText: string;
}

export interface Relay {
  /** Sends a call to its vendor and gives the answer back, whole or as a stream. */
  send(request: RelayRequest): Promise<Reply>;
}

export interface RelayParts extends CallParts {
  registry: Registry;
  catalogue: Catalogue;
  upstream: Upstream;
  log: Log;
}

/** Whole answers and error bodies that are larger than this are not answers. */
const maxAnswerBytes = 64 * 1024 * 1024;
const maxErrorBytes = 1024 * 1024;

/** A call that is about to be sent. */
interface Outgoing {
  request: RelayRequest;
  facts: RequestFacts;
  target: ResolvedModel;
  key: Secret;
  mode: Mode;
  call: Call;
}

export function createRelay(parts: RelayParts): Relay {
  return {
    async send(request) {
      parts.recorder.admit();
      const facts = request.dialect.readRequest(request.body);
      const target = request.vendor
        ? resolveOnFamily(request.vendor, facts.model)
        : resolveUnified(parts.registry, facts.model);
      permitModel(request.caller.principal.key, target, parts.registry);
      const { key, mode } = chooseKey(target.vendor, request.caller);
      requireDialect(target.vendor, request.dialect);
      if (mode === "managed") await requirePrice(parts, target, request.caller.arrivedAt);
      // Spliced before the call begins: what is wrong with the request is no interaction.
      const upstreamText = spliced(request, facts, target, facts.stream);
      const call = new Call(parts, { ...request, facts, target, mode });
      const outgoing = { request, facts, target, key, mode, call };
      return await passThrough(parts, outgoing, upstreamText);
    },
  };
}

/** Same dialect on both sides: bytes go on as they are and a decoder listens. */
async function passThrough(parts: RelayParts, out: Outgoing, upstreamText: string): Promise<Reply> {
  let ending: Ending | undefined;
  try {
    const answer = await callVendor(parts, out, upstreamText);
    const type = answer.headers["content-type"] ?? "";
    if (out.facts.stream && !/\bjson\b/i.test(type)) {
      return await streamReply(parts, out, answer);
    }
    const whole = await wholeReply(out, answer);
    ending = whole.ending;
    return whole.reply;
  } catch (thrown) {
    ending = endingOf(thrown, out.request.caller.signal.aborted);
    if (thrown instanceof StreamFailure) throw thrown.fault;
    throw thrown;
  } finally {
    // A stream that was handed over settles itself when it ends.
    if (ending) out.call.settle(ending);
  }
}

async function wholeReply(
  out: Outgoing,
  answer: UpstreamAnswer,
): Promise<{ reply: Reply; ending: Ending }> {
  const bytes = await answer.body.readAll(maxAnswerBytes);
  const text = new TextDecoder().decode(bytes);
  const json = parseAnswer(text);
  const events = out.request.dialect.decodeAnswer(json, out.target.vendor.quirks);
  const failure = events.find((event) => event.type === "error");
  if (failure) {
    const status = failure.error.status ?? 502;
    throw vendorFault({ ...failure.error, status }, {
      mode: out.mode,
      address: out.target.vendor.baseUrl,
    });
  }
  out.call.meter.listen(events);
  const left = out.request.caller.signal.aborted;
  return {
    reply: { status: answer.status, headers: answerHeaders(answer.headers), body: bytes },
    ending: {
      status: left ? "cancelled" : "completed",
      httpStatus: left ? null : answer.status,
      responseText: text,
    },
  };
}

async function streamReply(
  parts: RelayParts,
  out: Outgoing,
  answer: UpstreamAnswer,
): Promise<Reply> {
  const { request, facts, target, call, mode } = out;
  const stream = await forwardStream({
    call,
    dialect: request.dialect,
    decoder: request.dialect.streamDecoder(target.vendor.quirks),
    body: answer.body,
    mode,
    address: target.vendor.baseUrl,
    showUsage: facts.wantsStreamUsage,
    onDisconnect: request.caller.principal.key.onDisconnect,
    httpStatus: answer.status,
    nowMs: () => parts.clock.monotonicMs(),
  });
  return {
    status: answer.status,
    headers: {
      ...answerHeaders(answer.headers),
      "cache-control": "no-cache",
      // Keeps a proxy in front of us from gathering the events.
      "x-accel-buffering": "no",
    },
    body: stream,
  };
}

/** The vendor's answer with a good status; any other is thrown as a fault. */
async function callVendor(
  parts: RelayParts,
  out: Outgoing,
  upstreamText: string,
): Promise<UpstreamAnswer> {
  const answer = await post(parts, out, upstreamText);
  if (answer.status >= 200 && answer.status < 300) return answer;
  const failure = await readFailure(answer);
  if (out.facts.stream && answer.status === 400 && failure.text.includes("stream_options")) {
    // A server that doesn't know the usage flag: go on without, and count for ourselves.
    const plain = spliced(out.request, out.facts, out.target, false);
    const again = await post(parts, out, plain);
    if (again.status >= 200 && again.status < 300) return again;
    throw faultOf(parts, out, again, await readFailure(again));
  }
  throw faultOf(parts, out, answer, failure);
}

function post(parts: RelayParts, out: Outgoing, text: string): Promise<UpstreamAnswer> {
  const { request, facts, target, key } = out;
  const cancel = request.caller.principal.key.onDisconnect === "cancel";
  return parts.upstream.call({
    url: target.vendor.baseUrl + request.dialect.upstreamPath(target.model, facts.stream),
    method: "POST",
    headers: {
      ...vendorHeaders(target.vendor, key, request.caller.header),
      "content-type": "application/json",
      accept: facts.stream ? "text/event-stream" : "application/json",
    },
    body: text,
    signal: cancel ? request.caller.signal : new AbortController().signal,
    retry: true,
  });
}

async function readFailure(answer: UpstreamAnswer): Promise<{ json: unknown; text: string }> {
  const text = await answer.body.readAll(maxErrorBytes)
    .then((bytes) => new TextDecoder().decode(bytes))
    .catch((thrown) => {
      if (isAbort(thrown)) throw thrown;
      // The status alone says enough.
      return "";
    });
  try {
    return { json: JSON.parse(text), text };
  } catch {
    return { json: undefined, text };
  }
}

function faultOf(
  parts: RelayParts,
  out: Outgoing,
  answer: UpstreamAnswer,
  failure: { json: unknown },
): Fault {
  const error = readVendorError(failure.json, answer.status);
  const fault = vendorFault({ ...error, status: answer.status }, {
    mode: out.mode,
    address: out.target.vendor.baseUrl,
    retryAfterSeconds: retryAfterSeconds(parts, answer),
  });
  if (
    fault.code === "upstream_authentication_failed" || fault.code === "upstream_quota_exhausted"
  ) {
    parts.log.error("the service's own vendor key does not work", {
      vendor: out.target.vendor.label,
      status: answer.status,
      transaction: out.call.transactionId,
    });
  }
  return fault;
}

function retryAfterSeconds(parts: RelayParts, answer: UpstreamAnswer): number | undefined {
  const ms = retryAfterMs(answer.headers, parts.clock.now());
  return ms === undefined ? undefined : Math.ceil(ms / 1000);
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Fault("upstream_invalid_response", {
      note: "a good status with a body that is no JSON",
    });
  }
}

/** How a call that threw ended. */
function endingOf(thrown: unknown, callerLeft: boolean): Ending {
  if (isAbort(thrown) || callerLeft) return { status: "cancelled", httpStatus: null };
  const failure = thrown instanceof StreamFailure ? thrown : undefined;
  const fault = failure?.fault ?? thrown;
  const code = fault instanceof Fault ? fault.code : "internal_error";
  const truncated = failure?.status === "truncated" || code === "upstream_stream_truncated";
  return {
    status: truncated ? "truncated" : "failed",
    httpStatus: errors[code].status,
    errorCode: code,
  };
}

/** Dual-key, then the stored key, then the service's own (spec.md, Authentication modes). */
function chooseKey(vendor: Vendor, caller: Caller): { key: Secret; mode: Mode } {
  if (caller.vendorKey) return { key: caller.vendorKey, mode: "dual_key" };
  if (vendor.apiKey) return { key: vendor.apiKey, mode: "managed" };
  throw notConfigured(vendor);
}

function permitModel(key: ApiKey, target: ResolvedModel, registry: Registry): void {
  if (key.models.length === 0) return;
  const allowed = key.models.some((name) => {
    try {
      return resolveUnified(registry, name).id === target.id;
    } catch {
      return false;
    }
  });
  if (allowed) return;
  throw new Fault("permission_denied", {
    param: "model",
    message: `model: this API key may not call '${target.id.slice(0, 100)}'.`,
  });
}

function requireDialect(vendor: Vendor, dialect: Dialect): void {
  if (vendor.dialects.includes(dialect.name)) return;
  throw new Fault("not_implemented", {
    message: `Calls in the ${dialect.name} dialect to ${vendor.label} are not implemented yet.`,
  });
}

/** In managed mode a model without a price is refused: nobody would know what to charge. */
async function requirePrice(parts: RelayParts, target: ResolvedModel, at: Date): Promise<void> {
  const find = () => parts.prices.find(target.vendor.label, target.model, at);
  const known = find();
  if (known && !known.fallback) return;
  if (target.vendor.listedPrices) {
    const learning = parts.catalogue.models(target.vendor).catch((thrown) => {
      parts.log.warn("a vendor's price list could not be read", {
        vendor: target.vendor.label,
        reason: messageOf(thrown),
      });
    });
    // With a fallback price at hand the call need not wait for the list.
    if (!known) await learning;
  }
  if (find()) return;
  throw new Fault("model_not_found", {
    param: "model",
    message: `model: no price is known for '${
      target.id.slice(0, 100)
    }', so the service cannot bill it. Call it with a vendor key of your own, or ask the operator to add it to PRICES_FILE.`,
  });
}

function spliced(
  request: RelayRequest,
  facts: RequestFacts,
  target: ResolvedModel,
  askStreamUsage: boolean,
): string {
  return request.dialect.spliceRequest(request.bodyText, facts, {
    model: target.model,
    askStreamUsage,
  });
}
