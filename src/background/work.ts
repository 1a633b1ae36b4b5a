import type { Clock } from "../base/clock.ts";
import { systemSetTimer } from "../base/deadline.ts";
import type { BackgroundForm, Dialect } from "../dialects/kernel/dialect.ts";
import type { ApiKeyStore, Principal } from "../keys/api_key.ts";
import type { BackgroundStore, ClaimedBackgroundCall } from "./background_call.ts";
import { Fault } from "../shared/fault.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { usable } from "../keys/key_cache.ts";
import { errors } from "../../contracts/kernel/errors.ts";
import type { Registry } from "../vendors/registry.ts";
import type { ClaimedCall } from "./runner.ts";
import { parseExactly } from "../base/exact_json.ts";
import type { HeavyBodies } from "../base/heavy_json.ts";
import { rereadRequest } from "./reread_request.ts";
import { BackgroundTask } from "../relay/background_task.ts";
import type { CallJournal } from "../relay/call_deps.ts";
import type { Ending } from "../relay/ending.ts";
import { type CallContext, jobCaller } from "../relay/call_context.ts";
import { endingOf } from "../relay/pipeline.ts";
import { boundPayload, payloadLimits } from "../records/payload.ts";
import type { Recorder } from "../records/recorder.ts";
import type { Relay } from "../relay/relay.ts";

export interface BackgroundAskDeps {
  store: Pick<BackgroundStore, "begin" | "release" | "endUnrecorded">;
  relay: Pick<Relay, "send">;
  apiKeys: Pick<ApiKeyStore, "findById">;
  registry: Registry;
  dialects: Readonly<Record<"responses", Dialect>>;
  form: BackgroundForm;
  recorder: Recorder;
  journal: CallJournal;
  clock: Clock;
  payloadMaxBytes: number;
  mediaInlineBytes: number;
  heavy: HeavyBodies;
  /** `BACKGROUND_CALL_TIMEOUT_MS`, counted from when the vendor is asked. */
  timeoutMs: number;
}

/** A call that was interrupted this often probably causes the interruption. */
const maxAttempts = 3;
/** After more attempts than this, not even a record could be written: the call is given up. */
const unrecordableAttempts = 6;
/** No call may outlive the store's memory of erasures, which is a day. */
const longestMs = 20 * 60 * 60_000;
/** How long a call that could not be started waits for its next attempt. */
const restMs = 2_000;

/**
 * Makes a claimed call, or ends it without asking a vendor. `recorded`: its record is on its way to
 * the store, and ends the call there; `left`: another process has it, or it will be claimed again.
 * Throws if the store is unavailable.
 */
export async function workOn(
  deps: BackgroundAskDeps,
  claimed: ClaimedCall,
  stop: AbortController,
): Promise<"recorded" | "left"> {
  if (claimed.stopped === "given_up") {
    return await release(deps, claimed, { ms: 0, uncounted: false });
  }
  const call = await deps.store.begin(claimed);
  if (!call) return "left";
  const task = new BackgroundTask({
    form: deps.form,
    transactionId: call.request.begun.transactionId,
    responseId: call.responseId,
    queuedText: call.answerText,
  });
  if (call.state === "cancelled" || call.state === "deleted") {
    return await conclude(deps, call, task, { status: "cancelled", httpStatus: null });
  }
  if (call.attempts > unrecordableAttempts) {
    const failed = deps.form.moved(call.answerText, { failed: new Fault("internal_error") });
    await deps.store.endUnrecorded(call, failed);
    return "left";
  }
  const refusal = refusalOf(deps, call, claimed);
  if (refusal) return await conclude(deps, call, task, endingOf(refusal, false));
  const principal = await deps.apiKeys.findById(call.request.begun.apiKeyId);
  if (!principal || !usable(principal, deps.clock.now())) {
    return await conclude(deps, call, task, endingOf(new Fault("invalid_api_key"), false));
  }
  return await ask(deps, { call, claimed, stop, task, principal });
}

/** Returns why the vendor must not be asked (again); undefined if it may be. */
function refusalOf(
  { clock, form }: BackgroundAskDeps,
  { request, attempts }: ClaimedBackgroundCall,
  { vendorKey }: ClaimedCall,
): Fault | undefined {
  const failed = (message: string) => new Fault("internal_error", { message });
  if (clock.now().getTime() - request.begun.createdAt.getTime() > longestMs) {
    return new Fault("overloaded", { message: "The call has waited for too long." });
  }
  if (request.hasOwnKey && !vendorKey) {
    return failed(
      "The service restarted during this call. The vendor key sent with it isn't stored, so the call can't be repeated.",
    );
  }
  if (
    attempts > 1 && request.bodyText.includes("mcp") &&
    form.hasEffects(parseExactly(request.bodyText))
  ) {
    return failed(
      "The service restarted during this call. Tools of a remote server may already have acted, so it is not repeated.",
    );
  }
  if (attempts <= maxAttempts) return undefined;
  return failed(`The service restarted ${maxAttempts} times during this call.`);
}

async function ask(deps: BackgroundAskDeps, { call, claimed, stop, task, principal }: {
  call: ClaimedBackgroundCall;
  claimed: ClaimedCall;
  stop: AbortController;
  task: BackgroundTask;
  principal: Principal;
}): Promise<"recorded" | "left"> {
  const { relay, registry, dialects, form, timeoutMs } = deps;
  const { bodyText: sentText, vendor } = call.request;
  const { signal } = stop;
  const caller = callerOf(deps, call, { principal, vendorKey: claimed.vendorKey, signal });
  // The reason has to be known before anybody notices that the connection is closed.
  const noteStop = () => task.stopped = claimed.stopped;
  if (signal.aborted) noteStop();
  else signal.addEventListener("abort", noteStop, { once: true });
  const cancelTimeout = systemSetTimer(timeoutMs, () => {
    claimed.stopped ??= "timeout";
    stop.abort();
  });
  let fault: unknown;
  let leave = () => {};
  try {
    const { value, step, release: onEncoded } = await rereadRequest(
      ...[deps.heavy, sentText, call.accountId] as const,
    );
    leave = onEncoded;
    const asked = await step.inSteps(() => form.forVendor(value, sentText));
    const reply = await relay.send({
      ...{ ...asked, sentText, dialect: dialects.responses },
      caller: { ...caller, step, onEncoded },
      vendor: vendor === null ? undefined : registry.find(vendor),
      background: {
        task,
        ...(claimed.authorization ? { authorization: claimed.authorization } : {}),
      },
    });
    if (reply.body instanceof ReadableStream) { for await (const _ of reply.body); }
  } catch (thrown) {
    fault = thrown;
  } finally {
    cancelTimeout();
    leave();
  }
  if (caller.trace.settled) return "recorded";
  if (task.stopped === "given_up") {
    return await release(deps, call, {
      ms: 0,
      uncounted: caller.trace.transactionId === undefined,
    });
  }
  if (fault instanceof Fault && passing.has(fault.code) && !task.stopped) {
    // The vendor was not asked: the store or the journal refuses writes now.
    return await release(deps, call, { ms: restMs, uncounted: true });
  }
  return await conclude(deps, call, task, endingOf(fault, task.stopped === "cancelled"));
}

const passing: ReadonlySet<Fault["code"]> = new Set<Fault["code"]>([
  "store_unavailable",
  "overloaded",
]);

async function release(
  { store }: BackgroundAskDeps,
  key: ClaimedCall | ClaimedBackgroundCall,
  how: { ms: number; uncounted: boolean },
): Promise<"left"> {
  await store.release(key, how);
  return "left";
}

function callerOf(
  { clock, heavy, timeoutMs }: BackgroundAskDeps,
  { request }: ClaimedBackgroundCall,
  { principal, vendorKey, signal }: Pick<CallContext, "principal" | "vendorKey" | "signal">,
): CallContext {
  const { begun, headers, path } = request;
  const { requestId, sessionId, userId, endpoint, createdAt } = begun;
  const job = { principal, endpoint, requestId, sessionId, userId, signal };
  return {
    ...jobCaller({ clock, heavy }, job),
    vendorKey,
    path,
    header: (name) => headers[name],
    headerNames: () => Object.keys(headers),
    // The record has the time at which the caller's request arrived.
    arrivedAt: createdAt,
    arrivedMs: clock.monotonicMs() - Math.max(0, clock.now().getTime() - createdAt.getTime()),
    silenceMs: timeoutMs,
  };
}

/** Records the end of a call for which no vendor was asked, or whose progress is unknown. */
async function conclude(
  deps: BackgroundAskDeps,
  call: ClaimedBackgroundCall,
  task: BackgroundTask,
  ending: Ending,
): Promise<"recorded"> {
  const { clock, journal, recorder, dialects } = deps;
  const { begun, bodyText } = call.request;
  const { text, truncated, media } = boundPayload(
    bodyText,
    payloadLimits(deps, dialects.responses),
  );
  const interaction: SettledCall = {
    ...begun,
    status: ending.status === "cancelled" ? "cancelled" : "failed",
    httpStatus: ending.errorCode === undefined ? null : errors[ending.errorCode].status,
    errorCode: ending.errorCode ?? null,
    latencyMs: Math.max(0, clock.now().getTime() - begun.createdAt.getTime()),
    requestText: text,
    payloadTruncated: truncated,
    ...(media.length > 0 ? { media } : {}),
    retained: { reasoning: [], background: task.end(ending, undefined) },
  };
  const noted = journal.end(interaction);
  recorder.record(interaction);
  await noted;
  return "recorded";
}
