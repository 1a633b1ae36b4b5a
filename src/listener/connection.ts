import type { ConnectionLimits } from "./limits.ts";

/** What of a socket says how far its bytes got. */
export interface Wire {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Of what was written, waiting for the other side. */
  readonly writableLength: number;
  isPaused(): boolean;
}

/** What of a request says how far its body got. */
export interface Body {
  /** Its last byte has come. */
  readonly complete: boolean;
}

/** What of an answer says how far it got. */
export interface Answer {
  /** Nothing is added to it any more. */
  readonly writableEnded: boolean;
  readonly headersSent: boolean;
}

/** What a connection is ended for. */
export type Overdue = "slow_handshake" | "slow_head" | "slow_body" | "idle" | "unread";

/**
 * How far one connection got, and since when it has not got on. It is told when requests begin and
 * answers end, and looked at from time to time; bytes in between cost nothing.
 */
export class Connection {
  /** In the middle of the TLS handshake. */
  isShaking: boolean;
  /** A whole head has come once. */
  isServed = false;
  /** Refused: what it sends is read by nobody. */
  isRefused = false;
  /** Of the answer that is being sent, taken since the last look, by pieces of large writes. */
  piecesTaken = 0;

  readonly #limits: ConnectionLimits;
  #underWay = 0;
  /** The latest. */
  #body: Body | undefined;
  #answer: Answer | undefined;
  /** Since when a head is waited for. */
  #waitingMs: number;
  #headBegan = false;
  #read = 0;
  #readMs: number;
  /** Where the time over which the body's rate is taken began. */
  #span: { ms: number; read: number };
  #wasPaused = false;
  #taken = -1;
  #takenMs: number;

  constructor(limits: ConnectionLimits, nowMs: number, isShaking: boolean) {
    this.#limits = limits;
    this.isShaking = isShaking;
    this.#waitingMs = nowMs;
    this.#readMs = nowMs;
    this.#takenMs = nowMs;
    this.#span = { ms: nowMs, read: 0 };
  }

  get isBusy(): boolean {
    return this.#underWay > 0;
  }

  /** The request that a refusal could still be said to: the only one, its answer not begun. */
  get isAnswerable(): boolean {
    return this.#underWay === 0 || (this.#underWay === 1 && this.#answer?.headersSent === false);
  }

  get hasHeadBegun(): boolean {
    return this.#headBegan;
  }

  handshakeEnded(nowMs: number): void {
    this.isShaking = false;
    this.#waitingMs = nowMs;
  }

  requestBegan(body: Body, answer: Answer, wire: Wire, nowMs: number): void {
    this.#underWay++;
    this.isServed = true;
    this.#headBegan = false;
    this.#body = body;
    this.#answer = answer;
    this.#read = wire.bytesRead;
    this.#readMs = nowMs;
    this.#span = { ms: nowMs, read: wire.bytesRead };
  }

  answerEnded(wire: Wire, nowMs: number): void {
    this.#underWay--;
    this.#waitingMs = nowMs;
    this.#read = wire.bytesRead;
    this.#readMs = nowMs;
  }

  /** Whether what was written in another protocol than HTTP is taken by nobody for too long. */
  lookAtReader(wire: Wire, nowMs: number): boolean {
    return this.#isUnread(wire, nowMs);
  }

  /** What the connection is to be ended for, if it is. */
  look(wire: Wire, nowMs: number): Overdue | undefined {
    if (this.#isUnread(wire, nowMs)) return "unread";
    const hasRead = wire.bytesRead !== this.#read;
    this.#read = wire.bytesRead;
    if (this.#body?.complete === false) return this.#lookAtBody(wire, hasRead, nowMs);
    if (this.#underWay > 0) return undefined;
    if (hasRead && !this.#headBegan) {
      this.#headBegan = true;
      // The first head has its time from the connection's beginning on.
      if (this.isServed) this.#waitingMs = nowMs;
    }
    const waitedMs = nowMs - this.#waitingMs;
    if (this.isServed && !this.#headBegan) {
      return waitedMs >= this.#limits.idleMs ? "idle" : undefined;
    }
    if (waitedMs < this.#limits.headMs) return undefined;
    return this.isShaking ? "slow_handshake" : "slow_head";
  }

  /** Time in which we did not read, having no room, is not the caller's. */
  #lookAtBody(wire: Wire, hasRead: boolean, nowMs: number): Overdue | undefined {
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

  #isUnread(wire: Wire, nowMs: number): boolean {
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
