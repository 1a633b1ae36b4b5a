import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import type { RequestFacts } from "../dialects/dialect.ts";
import { readVendorError } from "../dialects/vendor_error.ts";
import { Fault } from "../domain/fault.ts";
import type { Mode } from "../domain/interaction.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import { isAbort, type Upstream, type UpstreamAnswer } from "../vendors/upstream.ts";
import { retryAfterMs } from "../vendors/upstream_retry.ts";
import { vendorHeaders } from "../vendors/vendor_headers.ts";
import type { Call } from "./call.ts";
import type { Caller } from "./caller.ts";
import type { Lane } from "./lane.ts";
import { vendorFault } from "./vendor_fault.ts";

/** A call that is about to be sent. */
export interface Outgoing {
  caller: Caller;
  facts: RequestFacts;
  target: ResolvedModel;
  key: Secret;
  mode: Mode;
  lane: Lane;
  call: Call;
}

const maxErrorBytes = 1024 * 1024;

/** The vendor's answer with a good status; any other is thrown as a fault. */
export async function callVendor(
  parts: { upstream: Upstream; log: Log; now: () => Date },
  out: Outgoing,
): Promise<UpstreamAnswer> {
  const answer = await post(parts.upstream, out, out.lane.requestText);
  if (isGood(answer)) return answer;
  const failure = await readFailure(answer);
  const { usageFlag } = out.lane.upstream;
  const isFlag = out.facts.stream && answer.status === 400 &&
    usageFlag?.isRefusedIn(failure.text) === true;
  const plain = isFlag ? out.lane.plainRequestText() : undefined;
  if (plain === undefined) throw faultOf(parts, out, answer, failure.json);
  // A server that doesn't know the usage flag: go on without, and count for ourselves.
  const again = await post(parts.upstream, out, plain);
  if (isGood(again)) return again;
  throw faultOf(parts, out, again, (await readFailure(again)).json);
}

function post(upstream: Upstream, out: Outgoing, text: string): Promise<UpstreamAnswer> {
  const { caller, facts, target, key, lane } = out;
  const cancel = caller.principal.key.onDisconnect === "cancel";
  return upstream.call({
    url: target.vendor.baseUrl + lane.upstream.upstreamPath(target.model, facts.stream),
    method: "POST",
    headers: {
      ...vendorHeaders(target.vendor, key, caller.header, lane.sameDialect),
      "content-type": "application/json",
      accept: facts.stream ? "text/event-stream" : "application/json",
    },
    body: text,
    // Who wants an answer drained stays with the vendor to its end.
    signal: cancel ? caller.signal : new AbortController().signal,
    retry: true,
  });
}

function isGood(answer: UpstreamAnswer): boolean {
  return answer.status >= 200 && answer.status < 300;
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
  parts: { log: Log; now: () => Date },
  out: Outgoing,
  answer: UpstreamAnswer,
  json: unknown,
): Fault {
  const retryMs = retryAfterMs(answer.headers, parts.now());
  const error = readVendorError(json, answer.status);
  const fault = vendorFault({ ...error, status: answer.status }, {
    mode: out.mode,
    address: out.target.vendor.baseUrl,
    key: out.key,
    ...(retryMs === undefined ? {} : { retryAfterSeconds: Math.ceil(retryMs / 1000) }),
  });
  if (operatorsProblem.has(fault.code)) {
    parts.log.error("the service's own vendor key does not work", {
      vendor: out.target.vendor.label,
      status: answer.status,
      transaction: out.call.transactionId,
    });
  }
  return fault;
}

const operatorsProblem: ReadonlySet<Fault["code"]> = new Set<Fault["code"]>([
  "upstream_authentication_failed",
  "upstream_quota_exhausted",
]);
