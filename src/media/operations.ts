import type { Clock } from "../base/clock.ts";
import type { ByteGate } from "../base/byte_gate.ts";
import type { MemoryPermit } from "../base/byte_room.ts";
import type { Secret } from "../base/secret.ts";
import { optionalField } from "../dialects/kernel/optional_field.ts";
import type { VendorState } from "../dialects/kernel/hosted.ts";
import type { Mode } from "../shared/interaction.ts";
import { speechTokens } from "../dialects/media/operations/speech.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import { Fault } from "../shared/fault.ts";
import {
  type BillableUsage,
  type BoundInput,
  type PriceRow,
  upperBoundNanos,
} from "../pricing/pricing.ts";
import type { Media } from "../shared/media.ts";
import type { PromptTags } from "../shared/prompt_tags.ts";
import type { Catalogue } from "../vendors/catalogue.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Registry } from "../vendors/registry.ts";
import { isAbort, type Upstream, type UpstreamAnswer } from "../vendors/upstream.ts";
import {
  askVendor,
  type AskVendorDeps,
  type VendorCallContext,
  type VendorRequest,
} from "../relay/ask_vendor.ts";
import type { Call } from "../relay/call.ts";
import type { CallDeps, Ending, RecordedForm } from "../relay/call_facts.ts";
import type { Caller } from "../relay/call_context.ts";
import { resolveVendorKey } from "../relay/resolve_vendor_key.ts";
import { endingOf } from "../relay/deliver.ts";
import { type AuthorizeDeps, nothingHeld, setAside } from "../relay/authorize.ts";
import { backpressuredReply } from "../relay/backpressured_body.ts";
import { refuseState } from "../relay/plan/hosted_work.ts";
import { OperationMeter } from "./operation_meter.ts";
import { forwardOperation, type StreamAnswer } from "./operation_stream.ts";
import { begin, permitModel, requirePrice } from "../relay/relay.ts";
import type { Reply } from "../relay/reply.ts";
import { StreamFailure } from "../relay/stream_forwarder.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";
import { readLarge } from "../relay/bounded_answer.ts";

/**
 * Calls that are none of the chat dialects, such as pictures and speech. They take the same way as
 * those: admitted, priced, covered by credit and caps, journalled, and settled exactly once.
 */
export interface Operations {
  /**
   * Makes one call: `work` asks the vendor, once or several times, and says what the caller gets
   * and what it came to. What it throws ends the call as failed, and is thrown again.
   */
  run(
    call: OperationCall,
    work: (ctx: OperationContext) => Promise<OperationAnswer>,
  ): Promise<Reply>;
}

/** A call that has passed its contract and whose vendor is known. */
export interface OperationCall {
  caller: Caller;
  /** How the record names it, and where its payloads hold media. */
  form: RecordedForm;
  target: ResolvedModel;
  /** As the caller wrote it. */
  requestedModel: string;
  stream: boolean;
  endUser?: string | undefined;
  tags?: PromptTags;
  /** JSON text for the record. */
  requestText: string;
  /** Media that it names by hash. */
  requestMedia?: readonly Media[];
  /** Paths of what could not be carried, in the caller's words. */
  losses?: readonly string[];
  /** Files of the vendor's account that it names. */
  state?: readonly VendorState[];
  /** What it can come to at most, all requests to the vendor together. */
  bound: BoundInput;
}

/** What the work of one call is done with. */
export interface OperationContext {
  readonly transactionId: string;
  readonly target: ResolvedModel;
  /** Undefined with a vendor key of the caller's own and no price known. */
  readonly price: PriceRow | undefined;
  /** What it can cost at most; null with a vendor key of the caller's own. */
  readonly setAsideNanos: bigint | null;
  /** Told what the call came to, also while it runs: what is known when it is cut is billed. */
  readonly meter: OperationMeter;
  /** Its vendor's answer with a good status; any other is thrown as a fault (retries included). */
  ask(request: VendorRequest): Promise<UpstreamAnswer>;
  /** What `vendorFault` must know to tell an error that came inside of a good answer. */
  readonly vendorWords: { mode: Mode; address: string; key: Secret };
  /** The whole body; large ones a few at a time, so that memory stays flat. */
  read(answer: UpstreamAnswer): Promise<Uint8Array>;
}

/** What the caller gets. */
export type OperationAnswer = WholeAnswer | StreamAnswer;

export interface WholeAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array;
  /** JSON text for the record. */
  recordText: string;
  isTruncated?: boolean;
}

export interface OperationDeps extends CallDeps, AuthorizeDeps {
  clock: Clock;
  newTransactionId: () => string;
  registry: Registry;
  catalogue: Catalogue;
  upstream: Upstream;
  storedKeys: VendorKeyCache;
  /** Lets in answers of many bytes a few at a time. */
  answers: ByteGate;
}

export function createOperations(deps: OperationDeps): Operations {
  return {
    async run(asked, work) {
      deps.recorder.admit();
      const { caller, target } = asked;
      permitModel(caller.principal.key, target, deps.registry);
      const { key, mode } = await resolveVendorKey(target.vendor, caller, deps.storedKeys);
      if (mode === "managed") refuseState(asked.state ?? []);
      const price = mode === "managed"
        ? await requirePrice(deps, target, caller.arrivedAt)
        : deps.prices.find(target.vendor.label, target.model, caller.arrivedAt);
      const transactionId = deps.newTransactionId();
      const errand = { transactionId, caller, target, key, mode };
      const call = await open(deps, asked, errand, mode === "managed" ? price : undefined);
      const room = new AnswerRoom(deps.answers, caller);
      const ask: AskVendorDeps = { ...deps, now: () => deps.clock.now() };
      let bytes = 0;
      const unread = (thrown: unknown) => {
        deps.tries.note("bill", transactionId, thrown);
        if (!call.meter.hasReport) call.meter.report(askedFor(asked), "estimated");
      };
      const failed = (thrown: unknown) => {
        if (bytes > 0 && isUnreadable(thrown)) unread(thrown);
      };
      return await deliver(deps, { ...errand, unread, failed }, call, room, () =>
        work({
          transactionId,
          target,
          price,
          setAsideNanos: call.setAsideNanos,
          meter: call.meter,
          ask: (request) => askVendor(ask, errand, request),
          vendorWords: { mode, address: target.vendor.baseUrl, key },
          read: (answer) => readLarge(answer, room.open(answer), (more) => bytes += more),
        }));
    },
  };
}

/** Sets aside what the call can cost, and notes that it begins. */
async function open(
  deps: OperationDeps,
  given: OperationCall,
  { transactionId, caller, mode }: VendorCallContext,
  price: PriceRow | undefined,
): Promise<Call<OperationMeter>> {
  const { principal, arrivedAt: at } = caller;
  const authorization = price
    ? await setAside(deps, {
      principal,
      transactionId,
      at,
      boundNanos: upperBoundNanos(price, given.bound),
    })
    : nothingHeld;
  const { requestText } = given;
  const meter = new OperationMeter(() => deps.clock.monotonicMs());
  return begin(deps, {
    transactionId,
    caller,
    dialect: given.form,
    facts: {
      model: given.requestedModel,
      stream: given.stream,
      endUser: given.endUser,
      tags: given.tags ?? {},
    },
    target: given.target,
    mode,
    plan: { losses: given.losses ?? [], retainedReasoning: () => [], encodeFolded: () => null },
    body: undefined,
    bodyText: requestText,
    bodyMedia: given.requestMedia ?? [],
    kept: undefined,
    authorization,
    price,
  }, meter);
}

/** The caller's reply; however the work ends, the call is settled exactly once. */
async function deliver(
  deps: OperationDeps,
  vendorCall: VendorCallContext & Record<"unread" | "failed", (thrown: unknown) => void>,
  call: Call<OperationMeter>,
  room: AnswerRoom,
  work: () => Promise<OperationAnswer>,
): Promise<Reply> {
  const { signal } = vendorCall.caller;
  let ending: Ending | undefined;
  try {
    const answer = await work();
    if ("listener" in answer) {
      return await forwardOperation({ ...vendorCall, call, answer, nowMs: deps.clock.monotonicMs });
    }
    const { status, headers, body, recordText, isTruncated = false } = answer;
    ending = {
      status: signal.aborted ? "cancelled" : "completed",
      httpStatus: signal.aborted ? null : status,
      responseText: recordText,
      isTruncated,
    };
    return backpressuredReply({ status, headers, body }, room.keep());
  } catch (thrown) {
    vendorCall.failed(thrown);
    ending = endingOf(thrown, signal.aborted);
    // Nobody is there to read it; the status is for the log.
    if (ending.status === "cancelled") return { status: 499, headers: {}, body: null };
    throw thrown instanceof StreamFailure ? thrown.fault : thrown;
  } finally {
    // A stream that was handed over settles itself when it ends.
    if (ending) await call.settle(ending);
    room.leave();
  }
}

/** What was cut, or what we failed at, was made all the same; an answer that is none was not. */
function isUnreadable(thrown: unknown): boolean {
  if (isAbort(thrown) || thrown instanceof StreamFailure) return false;
  return !(thrown instanceof Fault) || thrown.code === "upstream_stream_truncated";
}

/** Latin text is read at about 14 characters a second. */
const charactersPerSecond = 14;

/** What an answer came to of which nobody can tell more than what was asked for. */
function askedFor({ bound, requestText }: OperationCall): BillableUsage {
  const { images, characters, maxOutputTokens, choices = 1 } = bound;
  const input = Math.min(bound.inputTokens, estimateTokens(requestText));
  if (images) {
    const output = maxOutputTokens * choices;
    return { input, output, imageOutput: output, images };
  }
  if (characters === undefined) {
    return { input, output: 0, ...optionalField("seconds", bound.seconds) };
  }
  const seconds = characters / charactersPerSecond;
  const output = Math.min(maxOutputTokens, speechTokens(seconds));
  return { input, output, audioOutput: output, characters, seconds };
}

/** The room that one call's answers take up, until its caller has them. */
class AnswerRoom {
  readonly #gate: ByteGate;
  readonly #caller: Caller;
  /** One for all answers: a call must not wait for room that it holds itself. */
  #room: MemoryPermit | undefined;
  #isKept = false;

  constructor(gate: ByteGate, caller: Caller) {
    this.#gate = gate;
    this.#caller = caller;
  }

  open({ headers }: UpstreamAnswer): MemoryPermit {
    const { principal: { account, key }, signal } = this.#caller;
    const said = Number(headers["content-length"] ?? "");
    return this.#room ??= this.#gate.open({
      key: String(account.id),
      bytes: said > 0 ? said : undefined,
      signal: key.onDisconnect === "cancel" ? signal : undefined,
    });
  }

  /** From now on the room is the reply's; the function gives it back. */
  keep(): (() => void) | undefined {
    const room = this.#room;
    room?.complete();
    if (!room || room.isEmpty) return undefined;
    this.#isKept = true;
    return () => room.release();
  }

  leave(): void {
    if (!this.#isKept) this.#room?.release();
  }
}
