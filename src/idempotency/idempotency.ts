import { AnswerBytes, bytesOf, maxStoredBytes, streamOf } from "../base/answer_bytes.ts";
import type { CopyRoom } from "../base/copy_room.ts";
import type { Clock } from "../base/clock.ts";
import type { Step } from "../base/heavy_work.ts";
import { within } from "../base/deadline.ts";
import { orLeft } from "../base/or_left.ts";
import type { ReadAhead } from "../base/read_ahead.ts";
import { tapStream } from "../base/stream_tap.ts";
import type { Log } from "../base/log.ts";
import { Fault, isStoreAway, reasonOf } from "../shared/fault.ts";
import {
  type Claim,
  type Finished,
  type RepeatableRequest,
  type ReplayId,
  replayIdOf,
  replayIdSteps,
  type ReplayState,
  type ReplayStore,
  type StoredAnswer,
} from "./request_fingerprint.ts";
import type { Interaction } from "../shared/interaction.ts";
import { InFlightRequest } from "./in_flight_request.ts";
import { type CallTrace, goesOnAlone } from "../relay/call_context.ts";
import { type RememberedAnswer, ReplayMemory } from "./replay_memory.ts";
import { callerLeftReply, replayHeader, type Reply } from "../relay/reply.ts";

export interface IdempotentRequest extends RepeatableRequest {
  /** Aborted when the caller leaves. */
  signal: AbortSignal;
  /** The trace of the call that `run` makes: it tells whether the answer was completed. */
  trace: CallTrace;
  /**
   * The answer is not stored: a repeat waits while the request runs, and is a call of its own
   * afterwards.
   */
  keepsNothing?: boolean;
  /** How work on the body runs. */
  step?: Step | undefined;
}

/**
 * A call whose request another process had already answered, found when its answer was to be
 * stored.
 */
export interface Duplicate {
  accountId: number;
  transactionId: string;
  /** The attempt that made the call. */
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
  /** As `setTimeout`; the returned function cancels the timer. */
  setTimer: (ms: number, run: () => void) => () => void;
  log: Pick<Log, "warn" | "error">;
  /** Bounds what is read ahead of slow callers. */
  readAhead: ReadAhead;
  /** Bounds the copies of streams. */
  copies: CopyRoom;
  /** Whether a call was erased while it was under way: its answer is not kept. */
  isErased?: (call: Interaction) => boolean;
  /** Refunds a call's charge. */
  onDuplicate?: (duplicate: Duplicate) => Promise<void>;
}

/**
 * How long a call waits for the store's answer about its id, as long as for one of its connections;
 * after that the store counts as unreachable.
 */
const longestAskMs = 5000;
/** How often a process checks whether another one has answered. */
const pollMs = 100;
/** While the store is unreachable, assume for this long that the other process is still working. */
const believeMs = 30_000;
/**
 * How long the end of an answer may wait for the store, and the next renewal of claims for what the
 * store has missed.
 */
const holdMs = 1000;
/** How long the end of the process may wait for answers, and then for refunds. */
const longestDrainMs = 5000;

/** Answers a repeated request with the stored answer of the first one (docs/calling.md). */
export class Idempotency {
  readonly #deps: IdempotencyDeps;
  readonly #memory: ReplayMemory;
  /** By key; one at a time for each. */
  readonly #attempts = new Map<string, InFlightRequest>();
  readonly #writing = new Set<Promise<void>>();
  /** Refunds under way, which nothing else keeps track of. */
  readonly #returning = new Set<Promise<void>>();
  #catchingUp: Promise<void> | undefined;

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps;
    this.#memory = new ReplayMemory(deps.clock);
  }

  /** The number of answers that the store has not taken yet. */
  get unsaved(): number {
    return this.#memory.unsaved().length;
  }

  /**
   * Returns the stored answer of the same request, waits for one that is under way, or makes it
   * with `run`. Only a completed answer with status 2xx and at most 16 MiB is stored, if its account
   * has room for the copy of a stream until it ends. After any other answer, and when the first caller leaves one that doesn't go on without it, the id is
   * free and one of the waiting requests runs. The first caller's bytes are passed on as they come;
   * only the beginning of a call, for at most five seconds, and the end of its answer, for at most
   * one, wait for the store. Throws `idempotency_conflict` when the id is in use for another body.
   */
  async idempotent(request: IdempotentRequest, run: () => Promise<Reply>): Promise<Reply> {
    const { step } = request;
    const id = step?.isHeavy
      ? await step.inSteps(() => replayIdSteps(request))
      : replayIdOf(request);
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
    return callerLeftReply;
  }

  /** Renews claims, and stores the answers that the store has missed; a job for every 10 s. */
  async maintain(): Promise<void> {
    this.#memory.trim();
    const { store, setTimer } = this.#deps;
    const attempts = [...this.#attempts.values()].filter((one) => one.isRunning);
    const claimed = attempts.filter((one) => one.isClaimed);
    await store.renew(claimed.map((one) => one.claim));
    this.#catchingUp ??= this.#catchUp(attempts).finally(() => this.#catchingUp = undefined);
    await within(holdMs, this.#catchingUp, undefined, setTimer);
  }

  /**
   * Claims and stores what the store has missed, one claim and one answer at a time, so that calls
   * find free connections. A claim that fails, such as at a locked id, keeps nothing else from its
   * turn.
   */
  async #catchUp(attempts: readonly InFlightRequest[]): Promise<void> {
    const failures: unknown[] = [];
    const saved = this.#saveInTurn();
    for (const one of attempts) {
      if (one.isClaimed || one.hasEnded) continue;
      await this.#claimLate(one).catch((thrown) => failures.push(thrown));
    }
    await saved;
    if (failures.length > 0) throw failures[0];
  }

  async #saveInTurn(): Promise<void> {
    for (const remembered of this.#memory.unsaved()) {
      await inBackground(this.#writing, this.#save(remembered));
    }
  }

  /**
   * Erases the answers of these calls and those that repeat their text, here and in the store;
   * returns how many the store had.
   */
  async erase(transactionIds: readonly string[]): Promise<number> {
    this.#memory.erase(new Set(transactionIds));
    return await this.#deps.store.erase(transactionIds);
  }

  /**
   * Resolves when all answers are written and then all refunds made, each within five seconds; for
   * the end of the process.
   */
  async drain(): Promise<void> {
    const { setTimer } = this.#deps;
    await within(longestDrainMs, this.#saveAll(), undefined, setTimer);
    await within(longestDrainMs, Promise.all(this.#returning), undefined, setTimer);
  }

  async #saveAll(): Promise<void> {
    // Answers with their texts first: those without are compared with what is stored of them.
    for (const isBare of [false, true]) {
      for (const remembered of this.#memory.unsaved()) {
        if (remembered.isBare !== isBare) continue;
        inBackground(this.#writing, this.#save(remembered));
      }
      while (this.#writing.size > 0) await Promise.all(this.#writing);
    }
  }

  async #attempt(
    id: ReplayId,
    request: IdempotentRequest,
    run: () => Promise<Reply>,
  ): Promise<Reply> {
    const attempt = new InFlightRequest({ ...id, claimId: this.#deps.newId() });
    const { key, claimId } = attempt.claim;
    // The call's record names its attempt, in case this process doesn't live to store the answer.
    request.trace.repeat = { key, claimId };
    // Before the first await, so that there is never a second attempt.
    this.#attempts.set(id.key, attempt);
    try {
      const answer = await this.#acquire(attempt, request.signal);
      if (answer) this.#settle(attempt, answer);
      if (answer) return replayOf(answer);
      if (request.signal.aborted) {
        this.#abandon(attempt);
        return callerLeftReply;
      }
      const { fingerprint } = attempt.claim;
      if (!attempt.isClaimed) request.trace.repeat = { key, claimId, fingerprint };
      attempt.isRunning = true;
      attempt.confirm();
      return await this.#run(attempt, request, run);
    } catch (thrown) {
      this.#abandon(attempt);
      throw thrown;
    }
  }

  /** Returns the first request's stored answer, or undefined once this attempt owns the id. */
  async #acquire(attempt: InFlightRequest, signal: AbortSignal): Promise<StoredAnswer | undefined> {
    const { store, clock, setTimer } = this.#deps;
    const { claim } = attempt;
    let runningAtMs: number | undefined;
    for (let mayClaim = true; !signal.aborted && !attempt.isClaimed;) {
      const asked: Promise<ReplayState> = mayClaim ? store.claim(claim) : store.find(claim);
      const inTime = await within(longestAskMs, unlessAway(asked), "late", setTimer);
      // The claim may still be made. If that fails, the next one is made by `maintain`.
      if (inTime === "late" && mayClaim) void this.#claimLate(attempt, asked).catch(() => {});
      const answered = inTime === "late" ? undefined : inTime;
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

  /** The id's state as far as this process knows it, for when the store is unreachable. */
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
      this.#abandon(attempt);
    } else if (request.keepsNothing && !(body instanceof ReadableStream)) {
      this.#abandon(attempt);
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
    const { copies, readAhead } = this.#deps;
    const { accountId } = attempt.claim;
    const room = reply.hold ? undefined : { copies, accountId };
    const bytes = keepsNothing ? undefined : new AnswerBytes(room);
    return tapStream(body, {
      piece: (piece) => bytes?.add(piece) ?? piece,
      // The bytes are kept anyway, and a repeat doesn't wait for this reader.
      aheadBytes: bytes && maxStoredBytes,
      ahead: reply.hold ? undefined : readAhead.open(accountId),
      hold: reply.hold,
      holdsLast: reply.headers["content-length"] !== undefined,
      // A repeat would make an answer that goes on, and be charged for it, again.
      readsOn: () => goesOnAlone(trace) || isCompleted(trace),
      // Without its bytes the answer is not kept.
      ended: () => this.#conclude(attempt, reply, bytes?.whole(), trace, true),
      broken: () => {
        bytes?.drop();
        this.#abandon(attempt);
      },
    }, signal);
  }

  /**
   * Called once the whole answer is known; `bytes` is undefined when it is too large, is not to be
   * kept, or lost its room.
   */
  async #conclude(
    attempt: InFlightRequest,
    { status, headers }: Reply,
    bytes: Uint8Array | undefined,
    trace: CallTrace,
    streamed: boolean,
  ): Promise<void> {
    if (!bytes || !isCompleted(trace)) return this.#abandon(attempt);
    try {
      await this.#keep(attempt, { status, headers }, bytes, trace, streamed);
    } catch (thrown) {
      // The caller gets its answer anyway; a repeat of the request gets another one.
      this.#deps.log.error("idempotent answer not stored", { reason: nameOf(thrown) });
      this.#abandon(attempt);
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
    // Repeats don't get an erased answer, but its charge may still be refunded.
    const isErased = transactionId !== null && this.#isErased(trace);
    if (isErased) this.#memory.erase(new Set([transactionId]));
    this.#settle(attempt, isErased ? undefined : answer);
    const saved = inBackground(this.#writing, this.#save(remembered));
    // The last byte is sent once a restart can't lose the answer; a slow or unreachable store holds
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
        : await store.finish(claim, answer, settled);
      // The outcome is known only when the other attempt has ended.
      if (finished.state === "held") return;
      this.#memory.saved(remembered);
      const { accountId } = claim;
      const { transactionId } = answer;
      const notifyDuplicate = (originalId: string | null) => {
        if (transactionId === null) return;
        const returned = onDuplicate?.({ accountId, transactionId, claim, originalId, settled });
        if (returned) void inBackground(this.#returning, returned);
      };
      if (finished.state === "stored") {
        if (finished.isChargedElsewhere) notifyDuplicate(null);
        if (remembered.isBare) this.#memory.forget(remembered);
        if (finished.isGone) this.#memory.forget(remembered);
        // Erased while it was being written.
        if (remembered.isErased && transactionId !== null) await store.erase([transactionId]);
        return;
      }
      this.#memory.forget(remembered);
      if (finished.state === "duplicate") notifyDuplicate(finished.transactionId);
    } catch (thrown) {
      if (isStoreAway(thrown)) return;
      log.error("idempotent answer not stored", { reason: reasonOf(thrown) });
      this.#memory.forget(remembered);
    } finally {
      remembered.isSaving = false;
    }
  }

  /** Finds out what storing the answer would have found, for one whose texts are gone. */
  async #compare({ claim, answer, isErasedFirst }: RememberedAnswer): Promise<Finished> {
    const { transactionId } = answer;
    const { store } = this.#deps;
    const isFreed = await store.release(claim);
    const again = isErasedFirst ? undefined : this.#memory.find(claim.key);
    if (again && !again.isSaved) {
      // This answer was dropped for lack of room, and this process answered again; the new answer
      // may have waited for the claim.
      await this.#save(again);
      if (!again.isSaved) return { state: "held" };
    } else if (isFreed) {
      // The claim was still this attempt's, so nobody else has answered.
      return { state: "conflict" };
    }
    const existing = await store.find(claim);
    if (existing.state === "running") return { state: "held" };
    if (existing.state !== "done") return { state: "conflict" };
    const original = existing.answer.transactionId;
    // A write that seemed to fail was carried out after the store was erased.
    if (original === transactionId) return { state: "stored" };
    // This process answered again after this answer was erased.
    if (isErasedFirst && this.#memory.find(claim.key)?.answer.transactionId === original) {
      return { state: "conflict" };
    }
    return { state: "duplicate", transactionId: original };
  }

  async #claimLate(
    attempt: InFlightRequest,
    asked = this.#deps.store.claim(attempt.claim),
  ): Promise<void> {
    const existing = await asked;
    if (existing.state !== "free") return;
    attempt.isClaimed = true;
    const hasAnswered = attempt.isRunning && attempt.answer;
    if (attempt.hasEnded && !hasAnswered) await this.#release(attempt.claim);
  }

  /** Ends an attempt without an answer: one of the waiting requests makes the next. */
  #abandon(attempt: InFlightRequest): void {
    if (attempt.hasEnded) return;
    this.#settle(attempt);
    if (attempt.isClaimed) inBackground(this.#writing, this.#release(attempt.claim));
  }

  #settle(attempt: InFlightRequest, answer?: StoredAnswer): void {
    this.#attempts.delete(attempt.claim.key);
    attempt.end(answer);
  }

  /** Releases a claim. If that fails, the claim expires by itself, since nobody renews it. */
  async #release(claim: Claim): Promise<void> {
    await unlessAway(this.#deps.store.release(claim)).catch((thrown) =>
      this.#deps.log.warn("a claim could not be released", { reason: reasonOf(thrown) })
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

function isCompleted({ settled, transactionId, isAcknowledged }: CallTrace): boolean {
  // Without a call to a vendor, the answer's status is all there is to judge by.
  return settled
    ? settled.status === "completed"
    : isAcknowledged === true || transactionId === undefined;
}

function sameOr409(remembered: RememberedAnswer, id: ReplayId): StoredAnswer {
  if (remembered.claim.fingerprint !== id.fingerprint) throw conflict();
  return remembered.answer;
}

function conflict(): Fault {
  return new Fault("idempotency_conflict");
}

/** Resolves to undefined when the store is unreachable. */
async function unlessAway<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (thrown) {
    if (isStoreAway(thrown)) return undefined;
    throw thrown;
  }
}

/** For errors whose messages may quote an answer. */
function nameOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : typeof thrown;
}

/**
 * Returns the stored answer as it was received, byte for byte, with the header that marks a replay.
 */
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
