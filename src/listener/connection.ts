import type { ConnectionLimits } from "./limits.ts";

/** The part of a socket that shows the progress of its bytes. */
export interface SocketProgress {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Written bytes that wait for the other side. */
  readonly writableLength: number;
  isPaused(): boolean;
}

/** The part of a request that shows the progress of its body. */
export interface BodyProgress {
  /** Its last byte has arrived. */
  readonly complete: boolean;
}

/** The part of an answer that shows its progress. */
export interface AnswerProgress {
  /** Nothing will be added to it. */
  readonly writableEnded: boolean;
  readonly headersSent: boolean;
}

/** Why a connection is ended. */
export type Overdue = "slow_handshake" | "slow_head" | "slow_body" | "idle" | "unread";

/**
 * Tracks the progress of one connection, and how long it has made none. It's notified when requests
 * begin and answers end, and checked from time to time; bytes in between cost nothing.
 */
export class Connection {
  /** In the middle of the TLS handshake. */
  isShaking: boolean;
  /** A complete request head has arrived at least once. */
  isServed = false;
  /** Refused: whatever it sends is discarded. */
  isRefused = false;
  /**
   * How many pieces of large writes have been handed to the socket; a change shows that the other
   * side reads.
   */
  piecesTaken = 0;

  readonly #limits: ConnectionLimits;
  #underWay = 0;
  /** The body of the latest request; `#answer` is its answer. */
  #body: BodyProgress | undefined;
  #answer: AnswerProgress | undefined;
  /** Since when the next head is awaited. */
  #waitingMs: number;
  #headBegan = false;
  /** The last check found it idle for too long. */
  #wasIdle = false;
  #read = 0;
  #readMs = 0;
  /** Start of the time over which the body's rate is measured. */
  #span = { ms: 0, read: 0 };
  #wasPaused = false;
  #taken = -1;
  #takenMs = 0;

  constructor(limits: ConnectionLimits, nowMs: number, isShaking: boolean) {
    this.#limits = limits;
    this.isShaking = isShaking;
    this.#waitingMs = nowMs;
  }

  get isBusy(): boolean {
    return this.#underWay > 0;
  }

  get isBodyComplete(): boolean {
    return this.#body?.complete !== false;
  }

  /**
   * Whether a refusal can still be sent: there is no request, or only one whose answer hasn't
   * begun.
   */
  get isAnswerable(): boolean {
    return this.#underWay === 0 || (this.#underWay === 1 && this.#answer?.headersSent === false);
  }

  get hasHeadBegun(): boolean {
    return this.#headBegan;
  }

  /** How long the next head has been awaited, if no request is under way. */
  waitedMs(nowMs: number): number {
    return nowMs - this.#waitingMs;
  }

  handshakeEnded(nowMs: number): void {
    this.isShaking = false;
    this.#waitingMs = nowMs;
  }

  requestBegan(
    body: BodyProgress,
    answer: AnswerProgress,
    wire: SocketProgress,
    nowMs: number,
  ): void {
    this.#underWay++;
    this.isServed = true;
    this.#headBegan = false;
    this.#wasIdle = false;
    this.#body = body;
    this.#answer = answer;
    this.#read = wire.bytesRead;
    this.#readMs = nowMs;
    this.#span = { ms: nowMs, read: wire.bytesRead };
  }

  answerEnded(wire: SocketProgress, nowMs: number): void {
    this.#underWay--;
    this.#waitingMs = nowMs;
    this.#read = wire.bytesRead;
    this.#readMs = nowMs;
  }

  /**
   * For a connection that has left HTTP for another protocol: whether the caller has read nothing
   * for too long.
   */
  isReaderStalled(wire: SocketProgress, nowMs: number): boolean {
    return this.#isUnread(wire, nowMs);
  }

  /** Returns why the connection must be ended; undefined if it may go on. */
  check(wire: SocketProgress, nowMs: number): Overdue | undefined {
    if (this.#isUnread(wire, nowMs)) return "unread";
    const hasRead = wire.bytesRead !== this.#read;
    this.#read = wire.bytesRead;
    if (!this.isBodyComplete) return this.#checkBody(wire, hasRead, nowMs);
    if (this.#underWay > 0) return undefined;
    if (hasRead && !this.#headBegan) {
      this.#headBegan = true;
      // The time of the first head runs from the start of the connection.
      if (this.isServed) this.#waitingMs = nowMs;
    }
    const waitedMs = this.waitedMs(nowMs);
    if (this.isServed && !this.#headBegan) {
      // If the event loop was busy, the next request may wait unread in the socket, and closing the
      // connection would lose it. It is read before the next check.
      const isIdle = waitedMs >= this.#limits.idleMs;
      const isOverdue = isIdle && this.#wasIdle;
      this.#wasIdle = isIdle;
      return isOverdue ? "idle" : undefined;
    }
    if (waitedMs < this.#limits.headMs) return undefined;
    return this.isShaking ? "slow_handshake" : "slow_head";
  }

  /** Time in which we didn't read for lack of room doesn't count against the caller. */
  #checkBody(wire: SocketProgress, hasRead: boolean, nowMs: number): Overdue | undefined {
    const isPaused = wire.isPaused();
    if (isPaused || this.#wasPaused) {
      this.#wasPaused = isPaused;
      this.#readMs = nowMs;
      this.#span = { ms: nowMs, read: wire.bytesRead };
      return undefined;
    }
    if (hasRead) this.#readMs = nowMs;
    else if (nowMs - this.#readMs >= this.#limits.bodyMs) return "slow_body";
    const spanMs = nowMs - this.#span.ms;
    if (spanMs < this.#limits.rateSpanMs) return undefined;
    const bytesPerSecond = (wire.bytesRead - this.#span.read) / spanMs * 1000;
    if (bytesPerSecond < this.#limits.bodyBytesPerSecond) return "slow_body";
    this.#span = { ms: nowMs, read: wire.bytesRead };
    return undefined;
  }

  #isUnread(wire: SocketProgress, nowMs: number): boolean {
    const waiting = wire.writableLength;
    const taken = wire.bytesWritten - waiting + this.piecesTaken;
    if (waiting === 0 || taken !== this.#taken) {
      this.#taken = taken;
      this.#takenMs = nowMs;
      return false;
    }
    const isWhole = this.#underWay === 0 || this.#answer?.writableEnded === true;
    const { idleMs, unreadMs } = this.#limits;
    return nowMs - this.#takenMs >= (isWhole ? Math.min(idleMs, unreadMs) : unreadMs);
  }
}
