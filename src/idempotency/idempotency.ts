import { AnswerBytes, bytesOf, maxStoredBytes, streamOf } from "../base/answer_bytes.ts";
import type { Clock } from "../base/clock.ts";
import { within } from "../base/deadline.ts";
import { orLeft } from "../base/or_left.ts";
import { tapStream } from "../base/stream_tap.ts";
import type { Log } from "../base/log.ts";
import { Fault, isStoreAway, messageOf } from "../shared/fault.ts";
import {
  type Claim,
  type Finished,
  type RepeatableRequest,
  type ReplayId,
  replayIdOf,
  type ReplayState,
  type ReplayStore,
  type StoredAnswer,
} from "./request_fingerprint.ts";
import type { Interaction } from "../shared/interaction.ts";
import { InFlightRequest } from "./in_flight_request.ts";
import type { CallTrace } from "../relay/call_context.ts";
import { type RememberedAnswer, ReplayMemory } from "./replay_memory.ts";
import { leftReply, replayHeader, type Reply } from "../relay/reply.ts";

export interface IdempotentRequest extends RepeatableRequest {
  /** Aborted when the caller leaves. */
  signal: AbortSignal;
  /** Of the same caller that `run` calls for: says whether the answer was completed. */
  trace: CallTrace;
  /** Its answer is not kept: a repeat waits while it runs, and is a call of its own afterwards. */
  keepsNothing?: boolean;
}

/** Answers a repeated request with the stored answer of the first one (docs/calling.md). */
export interface Idempotency {
  /**
   * Gives the stored answer of the same request, waits for it where it is under way, or makes it by
   * `run`. Only a completed answer of status 2xx and at most 16 MiB is kept; after anything else,
   * and when the first caller leaves what does not go on without it, the id is free and one of
   * those who wait runs.
   * The first caller's bytes are passed on as they come; only the end waits for the store, at most
   * a second. Throws `idempotency_conflict` when the id is in use for another body.
   */
  idempotent(request: IdempotentRequest, run: () => Promise<Reply>): Promise<Reply>;
  /** Keeps claims alive and stores what the store has missed; a job for every 10 s. */
  maintain(): Promise<void>;
  /**
   * Erases the answers of these calls and those that repeat their text, here and in the store; returns
   * how many were stored.
   */
  erase(transactionIds: readonly string[]): Promise<number>;
  /** Resolves when nothing is being written or given back any more; for the end. */
  drain(): Promise<void>;
  /** Answers that the store has not taken yet. */
  readonly unsaved: number;
}

/** A call that another process had answered already, found when its answer came to be stored. */
export interface Duplicate {
  accountId: number;
  transactionId: string;
  /** The attempt that it was. */
  claim: Pick<Claim, "key" | "claimId">;
  /** The call whose answer is kept. */
  originalId: string | null;
  /** The call as it was settled. */
  settled: Interaction | undefined;
}

export interface IdempotencyDeps {
  store: ReplayStore;
  clock: Pick<Clock, "monotonicMs">;
  newId: () => string;
  /** `setTimeout`; the function returned takes it back. */
  setTimer: (ms: number, run: () => void) => () => void;
  log: Pick<Log, "warn" | "error">;
  /** Whether a call was erased while it was under way: its answer is not kept. */
  isErased?: (call: Interaction) => boolean;
  /** Gives a call's charge back. */
  onDuplicate?: (duplicate: Duplicate) => Promise<void>;
}

/** How often a process asks whether another one has answered. */
const pollMs = 100;
/** While the store is unreachable, assume for this long that the other process is still working. */
const believeMs = 30_000;
/** How long the end of an answer may wait for the store. */
const holdMs = 1000;
/** How long the end of the process may wait for charges that are given back. */
const longestReturnMs = 5000;

export function createIdempotency(deps: IdempotencyDeps): Idempotency {
  return new Gate(deps);
}

class Gate implements Idempotency {
  readonly #deps: IdempotencyDeps;
  readonly #memory: ReplayMemory;
  /** By key; one at a time for each. */
  readonly #attempts = new Map<string, InFlightRequest>();
  readonly #writing = new Set<Promise<void>>();
  /** Charges that are being given back: nothing else knows of them. */
  readonly #returning = new Set<Promise<void>>();

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps;
    this.#memory = new ReplayMemory(deps.clock);
  }

  get unsaved(): number {
    return this.#memory.unsaved().length;
  }

  async idempotent(request: IdempotentRequest, run: () => Promise<Reply>): Promise<Reply> {
    const id = replayIdOf(request);
    while (!request.signal.aborted) {
      const other = this.#attempts.get(id.key);
      if (!other) {
        const remembered = this.#memory.find(id.key);
        if (remembered && !remembered.isSaved) return replayOf(sameOr409(remembered, id));
        return await this.#attempt(id, request, run);
      }
      const isSame = other.claim.fingerprint === id.fingerprint;
      if (other.isConfirmed && !isSame) throw conflict();
      await orLeft(other.isConfirmed ? other.ended : other.decided, request.signal);
      if (other.answer && isSame) return replayOf(other.answer);
    }
    return leftReply;
  }

  async maintain(): Promise<void> {
    this.#memory.trim();
    const attempts = [...this.#attempts.values()].filter((one) => one.isRunning);
    const claimed = attempts.filter((one) => one.isClaimed);
    await this.#deps.store.renew(claimed.map((one) => one.claim));
    for (const one of attempts) {
      // It began while the store was away.
      if (!one.isClaimed && !one.hasEnded) await this.#claimLate(one);
    }
    for (const remembered of this.#memory.unsaved()) await this.#save(remembered);
  }

  async erase(transactionIds: readonly string[]): Promise<number> {
    this.#memory.erase(new Set(transactionIds));
    return await this.#deps.store.erase(transactionIds);
  }

  async drain(): Promise<void> {
    // Without texts one is compared with what is stored of the others.
    for (const isBare of [false, true]) {
      for (const remembered of this.#memory.unsaved()) {
        if (remembered.isBare !== isBare) continue;
        inBackground(this.#writing, this.#save(remembered));
      }
      while (this.#writing.size > 0) await Promise.all(this.#writing);
    }
    const returned = Promise.all(this.#returning);
    await within(longestReturnMs, returned, undefined, this.#deps.setTimer);
  }

  async #attempt(
    id: ReplayId,
    request: IdempotentRequest,
    run: () => Promise<Reply>,
  ): Promise<Reply> {
    const attempt = new InFlightRequest({ ...id, claimId: this.#deps.newId() });
    const { key, claimId } = attempt.claim;
    // So that the call's record says which attempt it was, should this process not live to say it.
    request.trace.repeat = { key, claimId };
    // Before anything is waited for, so that there is never a second one.
    this.#attempts.set(id.key, attempt);
    try {
      const answer = await this.#acquire(attempt, request.signal);
      if (answer) this.#end(attempt, answer);
      if (answer) return replayOf(answer);
      if (request.signal.aborted) {
        this.#free(attempt);
        return leftReply;
      }
      attempt.isRunning = true;
      attempt.confirm();
      return await this.#run(attempt, request, run);
    } catch (thrown) {
      this.#free(attempt);
      throw thrown;
    }
  }

  /** Returns the first request's stored answer, or undefined once this attempt owns the id. */
  async #acquire(attempt: InFlightRequest, signal: AbortSignal): Promise<StoredAnswer | undefined> {
    const { store, clock } = this.#deps;
    const { claim } = attempt;
    let runningAtMs: number | undefined;
    for (let mayClaim = true; !signal.aborted;) {
      const asked: Promise<ReplayState> = mayClaim ? store.claim(claim) : store.look(claim);
      const answered = await unlessAway(asked);
      const existing = answered ?? this.#knownHere(claim, runningAtMs);
      if (existing.state === "conflict") throw conflict();
      if (existing.state === "done") return existing.answer;
      if (existing.state === "free" && (mayClaim || !answered)) {
        attempt.isClaimed = answered !== undefined;
        return undefined;
      }
      mayClaim = existing.state === "free";
      if (mayClaim) continue;
      if (answered) runningAtMs = clock.monotonicMs();
      // Another process is running the same request (same fingerprint).
      attempt.confirm();
      await this.#sleep(pollMs, signal);
    }
    return undefined;
  }

  /** What this process knows by itself while the store is away. */
  #knownHere(id: ReplayId, runningAtMs: number | undefined): ReplayState {
    const remembered = this.#memory.find(id.key);
    if (remembered) return { state: "done", answer: sameOr409(remembered, id) };
    const isBelieved = runningAtMs !== undefined &&
      this.#deps.clock.monotonicMs() - runningAtMs < believeMs;
    return { state: isBelieved ? "running" : "free" };
  }

  async #run(
    attempt: InFlightRequest,
    request: IdempotentRequest,
    run: () => Promise<Reply>,
  ): Promise<Reply> {
    const reply = await run();
    const { body, status } = reply;
    if (status < 200 || status > 299) {
      this.#free(attempt);
    } else if (request.keepsNothing && !(body instanceof ReadableStream)) {
      this.#free(attempt);
    } else if (body instanceof ReadableStream) {
      return { ...reply, body: this.#tapAnswer(attempt, request, reply, body) };
    } else {
      await this.#conclude(attempt, reply, bytesOf(body), request.trace, false);
    }
    return reply;
  }

  #tapAnswer(
    attempt: InFlightRequest,
    { signal, trace, keepsNothing }: IdempotentRequest,
    reply: Reply,
    body: ReadableStream<Uint8Array>,
  ): ReadableStream<Uint8Array> {
    const bytes = keepsNothing ? undefined : new AnswerBytes();
    return tapStream(body, {
      piece: (piece) => bytes?.add(piece) ?? piece,
      // They are kept anyway, and a repeat doesn't wait for this reader.
      aheadBytes: bytes && maxStoredBytes,
      // The rest of a complete answer is already here. One that goes on without its caller is this
      // request's answer, and would be made and charged again for a repeat.
      goesOn: () => trace.goesOn === true || isCompleted(trace),
      // Without its bytes the answer is not kept.
      ended: () => this.#conclude(attempt, reply, bytes?.whole(), trace, true),
      broken: () => this.#free(attempt),
    }, signal);
  }

  /** The whole answer is known; `bytes` is undefined when it was too large to remember. */
  async #conclude(
    attempt: InFlightRequest,
    { status, headers }: Reply,
    bytes: Uint8Array | undefined,
    trace: CallTrace,
    streamed: boolean,
  ): Promise<void> {
    if (!bytes || !isCompleted(trace)) return this.#free(attempt);
    try {
      await this.#keep(attempt, { status, headers }, bytes, trace, streamed);
    } catch (thrown) {
      // The caller has its answer all the same; who repeats the request gets another one.
      this.#deps.log.error("idempotent answer not stored", { reason: nameOf(thrown) });
      this.#free(attempt);
    }
  }

  async #keep(
    attempt: InFlightRequest,
    { status, headers }: Pick<Reply, "status" | "headers">,
    bytes: Uint8Array,
    trace: CallTrace,
    streamed: boolean,
  ): Promise<void> {
    const transactionId = trace.transactionId ?? null;
    const { answerSources: sources = [] } = trace;
    const answer = { status, headers, body: bytes, streamed, transactionId, sources };
    const remembered = this.#memory.put(attempt.claim, answer, trace.settled);
    // Given to nobody; its charge may still be given back.
    const isErased = transactionId !== null && this.#isErased(trace);
    if (isErased) this.#memory.erase(new Set([transactionId]));
    this.#end(attempt, isErased ? undefined : answer);
    const saved = inBackground(this.#writing, this.#save(remembered));
    // The last byte leaves when a restart can't lose the answer; a store that is slow or away holds
    // nobody up for long.
    await within(holdMs, saved, undefined, this.#deps.setTimer);
  }

  #isErased({ settled }: CallTrace): boolean {
    return settled !== undefined && this.#deps.isErased?.(settled) === true;
  }

  async #save(remembered: RememberedAnswer): Promise<void> {
    const { claim, answer, settled } = remembered;
    const { store, log, onDuplicate } = this.#deps;
    if (remembered.isSaving) return;
    remembered.isSaving = true;
    try {
      const finished = remembered.isBare
        ? await this.#compare(remembered)
        : await store.finish(claim, answer);
      // What is held by another is decided when that one has ended.
      if (finished.state === "held") return;
      remembered.isSaved = true;
      const { accountId } = claim;
      const { transactionId } = answer;
      const tell = (originalId: string | null) => {
        if (transactionId === null) return;
        const returned = onDuplicate?.({ accountId, transactionId, claim, originalId, settled });
        if (returned) void inBackground(this.#returning, returned);
      };
      if (finished.state === "stored") {
        if (finished.isChargedElsewhere) tell(null);
        if (remembered.isBare) this.#memory.forget(remembered);
        if (finished.isGone) this.#memory.forget(remembered);
        // Erased while it was being written.
        if (remembered.isErased && transactionId !== null) await store.erase([transactionId]);
        return;
      }
      this.#memory.forget(remembered);
      if (finished.state === "duplicate") tell(finished.transactionId);
    } catch (thrown) {
      if (isStoreAway(thrown)) return;
      log.error("idempotent answer not stored", { reason: messageOf(thrown) });
      this.#memory.forget(remembered);
    } finally {
      remembered.isSaving = false;
    }
  }

  /** What storing the answer would find, of one that has no texts any more. */
  async #compare({ claim, answer, isErasedFirst }: RememberedAnswer): Promise<Finished> {
    const { transactionId } = answer;
    const { store } = this.#deps;
    const isFreed = await store.release(claim);
    const again = isErasedFirst ? undefined : this.#memory.find(claim.key);
    if (again && !again.isSaved) {
      // This process answered again, for want of room: that answer may have waited for the claim.
      await this.#save(again);
      if (!again.isSaved) return { state: "held" };
    } else if (isFreed) {
      // While the claim was this attempt's, nobody else has answered.
      return { state: "conflict" };
    }
    const existing = await store.look(claim);
    if (existing.state === "running") return { state: "held" };
    if (existing.state !== "done") return { state: "conflict" };
    const original = existing.answer.transactionId;
    // An attempt to store it seemed to fail, and was carried out after the store was erased.
    if (original === transactionId) return { state: "stored" };
    // This process answered again once this one was erased.
    if (isErasedFirst && this.#memory.find(claim.key)?.answer.transactionId === original) {
      return { state: "conflict" };
    }
    return { state: "duplicate", transactionId: original };
  }

  async #claimLate(attempt: InFlightRequest): Promise<void> {
    const existing = await this.#deps.store.claim(attempt.claim);
    if (existing.state !== "free") return;
    attempt.isClaimed = true;
    if (attempt.hasEnded && !attempt.answer) await this.#release(attempt.claim);
  }

  /** The attempt came to nothing: whoever waits may make the next one. */
  #free(attempt: InFlightRequest): void {
    if (attempt.hasEnded) return;
    this.#end(attempt);
    if (attempt.isClaimed) inBackground(this.#writing, this.#release(attempt.claim));
  }

  #end(attempt: InFlightRequest, answer?: StoredAnswer): void {
    this.#attempts.delete(attempt.claim.key);
    attempt.end(answer);
  }

  /** A claim that can't be given back now ends by itself, since nobody renews it. */
  async #release(claim: Claim): Promise<void> {
    await unlessAway(this.#deps.store.release(claim)).catch((thrown) =>
      this.#deps.log.warn("a claim could not be given back", { reason: messageOf(thrown) })
    );
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#deps.setTimer(ms, resolve);
    return orLeft(promise, signal).finally(cancel);
  }
}

function inBackground(all: Set<Promise<void>>, work: Promise<void>): Promise<void> {
  const tracked = work.finally(() => all.delete(tracked));
  all.add(tracked);
  return tracked;
}

function isCompleted({ settled, transactionId, isLeft }: CallTrace): boolean {
  // Where no vendor was called the answer's status says it all.
  return settled ? settled.status === "completed" : isLeft === true || transactionId === undefined;
}

function sameOr409(remembered: RememberedAnswer, id: ReplayId): StoredAnswer {
  if (remembered.claim.fingerprint !== id.fingerprint) throw conflict();
  return remembered.answer;
}

function conflict(): Fault {
  return new Fault("idempotency_conflict");
}

/** Undefined when the store is away. */
async function unlessAway<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (thrown) {
    if (isStoreAway(thrown)) return undefined;
    throw thrown;
  }
}

/** Messages may quote what an answer says. */
function nameOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : typeof thrown;
}

/** The stored answer as it was received, byte for byte, with the sign that it is a repetition. */
function replayOf(answer: StoredAnswer): Reply {
  const { status, headers, body, streamed, transactionId } = answer;
  return {
    status,
    headers: {
      ...headers,
      ...(transactionId === null ? {} : { "x-transaction-id": transactionId }),
      ...replayHeader,
    },
    body: streamed ? streamOf(body) : body.length === 0 ? null : body,
  };
}
