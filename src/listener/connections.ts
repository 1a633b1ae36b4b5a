import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../base/clock.ts";
import { turnEnd } from "../base/turns.ts";
import { Connection, type Overdue } from "./connection.ts";
import { ChunkWatch, CountedMessage } from "./counted_message.ts";
import type { ConnectionLimits } from "./limits.ts";
import type { ConnectionEvents, EndReason } from "./connection_events.ts";
import { writePiecewise } from "./piecewise.ts";
import { deafen, endInStages, type Refusal, refuse, type Unreadable } from "./refusal.ts";
import { afterEachRead } from "./runtime_http.ts";
import { Valve } from "./valve.ts";
import type { OpenSocket } from "./web_socket.ts";

/** A connection with its socket and its state outside of `Connection`. */
class Held {
  chunks: ChunkWatch | undefined;
  /** Undefined until the connection speaks HTTP. */
  valve: Valve | undefined;
  /**
   * A request that was answered before its body had arrived, and up to which number of bytes its
   * connection is read.
   */
  answeredEarly: { request: IncomingMessage; untilBytes: number } | undefined;
  /** It speaks WebSocket, or is about to. */
  upgraded: OpenSocket | "opening" | undefined;
  /** A call of its WebSocket is under way. */
  isWorking = false;
  /** It was ended for taking too long, and may still be told so. */
  isOverdue = false;
  /** At the last `endWaiting` it had no request and had not just been used. */
  hasRested = false;
  /** Requests that were sent before the one under way was answered (pipelining), in their order. */
  readonly pipelined: Arrived[] = [];
  /** The request after which the connection is closed, as its head or its answer's says. */
  last: IncomingMessage | undefined;
  /** A request has followed the last one. */
  isFollowed = false;

  constructor(
    readonly connection: Connection,
    readonly peer: string,
    /** The TLS socket as soon as there is one. */
    public socket: Socket,
  ) {}

  get isServed(): boolean {
    return this.connection.isServed;
  }
}

/** A request whose head has been read. */
interface Arrived {
  readonly request: IncomingMessage;
  readonly answer: ServerResponse;
  begin(): void;
}

/** While so many requests wait on a connection, no more is read from it. */
const maxPipelined = 16;

/** Refused connections stay open for a second, so that their callers can read why. */
const maxRefusalsAtOnce = 16;

/**
 * Chunks that take about a millisecond. A read of more is followed by a rest as long as it took: the
 * runtime looks for what others sent when it has nothing to do, else only every 61 turns.
 */
const chunksPerMs = 250;
const minRestMs = 2;

/** Among how many connections the one is looked for that makes room for another. */
const candidates = 16;

/** A connection that was used within this time may have the next request under way. */
const usedMs = 50;

const maxDiscardedBytes = 64 * 1024 * 1024;

/**
 * All open connections. Limits how many there may be, in total and per address, and how long each
 * may take to send and to read. One timer, at most a second apart, checks all of them.
 */
export class Connections {
  /** Max open connections: `limits.most`, or fewer if descriptors run out earlier. */
  most: number;
  /** Number accepted so far. */
  accepted = 0;
  /** See `endAfterAnswers`. */
  isEnding = false;

  readonly #deps: ConnectionsDeps;
  readonly #held = new Map<Socket, Held>();
  readonly #all = new Crowd<Held>();
  readonly #peers = new Map<string, Crowd<Held>>();
  readonly #everyMs: number;
  /** Time of the last check, by the clock, and without long pauses of this process. */
  #checkedMs: number;
  #countedMs = 0;
  /** Connections that are being told that there is no room for them. */
  #refusing = 0;
  readonly #checks: ReturnType<typeof setInterval>;
  /** Connections that rest, each after a read of many chunks. */
  readonly #resting: Held[] = [];
  /** Runs until the next of them reads on. */
  #restTimer: ReturnType<typeof setTimeout> | undefined;
  /** The one of them that was last to read on. */
  #readOn: Held | undefined;

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
    this.most = deps.limits.most;
    const { headMs, bodyMs, idleMs, unreadMs } = deps.limits;
    const shortest = Math.min(headMs, bodyMs, idleMs, unreadMs);
    this.#everyMs = Math.max(20, Math.min(1_000, shortest / 8));
    this.#checkedMs = deps.clock.monotonicMs();
    this.#checks = setInterval(() => this.check(), this.#everyMs);
  }

  get size(): number {
    return this.#all.size;
  }

  /** Adds a connection; false if it was closed instead. */
  admit(socket: Socket, isShaking: boolean): boolean {
    this.accepted++;
    // From the first moment: an error that nobody listens for ends the process.
    socket.on("error", () => socket.destroy());
    const peer = socket.remoteAddress ?? "";
    const crowd = this.#peers.get(peer) ?? new Crowd<Held>();
    const full = this.#makeRoom(crowd);
    if (full !== undefined) {
      this.#deps.events.ended(full, peer);
      this.#sendAway(socket, isShaking);
      return false;
    }
    const connection = new Connection(this.#deps.limits, this.#nowMs(), isShaking);
    const held = new Held(connection, peer, socket);
    this.#peers.set(peer, crowd);
    this.#add(held, crowd);
    socket.once("close", () => this.#drop(socket));
    return true;
  }

  /**
   * The connection speaks HTTP from now on. With TLS, `socket` is the TLS socket over `underTls`.
   */
  ready(socket: Socket, underTls?: Socket): void {
    const held = this.#held.get(underTls ?? socket);
    if (held === undefined) return void socket.destroy();
    if (underTls !== undefined) {
      held.connection.handshakeEnded(this.#nowMs());
      this.#held.delete(underTls);
      this.#held.set(socket, held);
      held.socket = socket;
      socket.on("error", () => socket.destroy());
      socket.once("close", () => this.#drop(socket));
    }
    held.valve = new Valve(socket);
    this.#endInOrder(held);
    writePiecewise(socket, () => held.connection.piecesTaken++);
  }

  /**
   * Calls `begin` when all earlier requests of the connection are answered. Returns false if the
   * connection was refused already, or an earlier request is its last: no further one is answered.
   */
  requestArrived(request: IncomingMessage, answer: ServerResponse, begin: () => void): boolean {
    const { socket } = request;
    const held = this.#held.get(socket);
    if (held === undefined || held.connection.isRefused) return false;
    if (held.last !== undefined) {
      this.#ignoreRest(held);
      return false;
    }
    if (request.headers["transfer-encoding"] !== undefined) this.#followChunks(held, request);
    if (!answer.shouldKeepAlive) held.last = request;
    const arrived = { request, answer, begin };
    if (held.connection.isBusy) {
      held.pipelined.push(arrived);
      if (held.pipelined.length >= maxPipelined) held.valve?.shut("pipelined");
    } else {
      this.#leave(held);
      this.#occupy(held, arrived);
      begin();
    }
    return true;
  }

  /**
   * The connection asks for another protocol. Returns what completes the switch once the request is
   * answered; undefined if the connection was refused already, or an earlier request of it is
   * unanswered.
   */
  upgrading(socket: Socket): Upgrading | undefined {
    const held = this.#held.get(socket);
    if (held === undefined || held.connection.isRefused || held.connection.isBusy) return undefined;
    if (held.last !== undefined) return undefined;
    held.connection.isServed = true;
    held.upgraded = "opening";
    this.#leave(held);
    return {
      opened: (open) => {
        held.upgraded = open;
        if (this.#held.get(socket) === held) this.#wait(held);
      },
      working: (isWorking) => {
        if (held.isWorking === isWorking) return;
        held.isWorking = isWorking;
        if (this.#held.get(socket) !== held) return;
        if (isWorking) this.#leave(held);
        else this.#wait(held);
      },
      refuse: (refusal) => {
        held.connection.isRefused = true;
        refuse(socket, refusal);
      },
    };
  }

  /** Ends a connection whose next request can't be read; answers under way are cut off. */
  refuse(socket: Socket, why: Unreadable): void {
    const held = this.#held.get(socket);
    const connection = held?.connection;
    // More unreadable bytes: the connection was refused already.
    if (connection?.isRefused) return;
    if (connection) connection.isRefused = true;
    const isAnswerable = held === undefined ||
      (held.connection.isAnswerable && held.pipelined.length === 0);
    if (!isAnswerable) return void socket.destroy();
    refuse(socket, this.#deps.refuse(why));
  }

  /** Answers no further request of this connection after the current one. */
  refuseFurther(socket: Socket): void {
    const held = this.#held.get(socket);
    if (held === undefined) return;
    held.connection.isRefused = true;
    held.pipelined.length = 0;
  }

  /** Closes the request's connection after its answer. */
  endAfter(request: IncomingMessage): void {
    const held = this.#held.get(request.socket);
    if (held !== undefined) held.last = request;
  }

  /** Whether the request after which the connection is closed has arrived completely. */
  isLastRequestComplete(socket: Socket): boolean {
    return this.#held.get(socket)?.last?.complete === true;
  }

  peerOf(socket: Socket): string {
    return this.#held.get(socket)?.peer ?? "";
  }

  /** Ends connections without a request, silent ones first, until at most `most` are open. */
  shrink(): void {
    while (this.size > this.most) {
      const held = this.#nextToEnd();
      if (held === undefined) return;
      this.#end(held, "made_room");
    }
  }

  /** From now on each answer is its connection's last, and says so. */
  endAfterAnswers(): void {
    this.isEnding = true;
  }

  /**
   * Ends connections without a request under way that had none at the last look either; WebSockets
   * leave when they have none. A connection that has just been used is left open: a proxy may be
   * sending the next request on it.
   */
  endWaiting(): void {
    const nowMs = this.#nowMs();
    for (const held of this.#held.values()) {
      const { connection, socket, upgraded, hasRested: hadRested } = held;
      if (upgraded === "opening") continue;
      if (upgraded !== undefined) {
        upgraded.receiver.leave();
        continue;
      }
      held.hasRested = !connection.isBusy && connection.waitedMs(nowMs) >= usedMs;
      // If the event loop was busy, a request may wait unread; it is read before the next look.
      if (held.hasRested && hadRested) socket.destroy();
    }
  }

  /** Ends all connections, and reports those with a call under way. */
  endAll(): void {
    for (const { connection, isWorking, peer, socket } of this.#held.values()) {
      if (connection.isBusy || isWorking) this.#deps.events.ended("stopping", peer);
      socket.destroy();
    }
    this.#deps.events.write();
  }

  /** Call it when all connections have closed; resolves when their answers have, too. */
  async close(): Promise<void> {
    clearInterval(this.#checks);
    clearTimeout(this.#restTimer);
    // The last sockets report their end in this turn of the loop.
    await turnEnd();
  }

  /** Ends connections that take too long. */
  check(): void {
    const nowMs = this.#countedMs = this.#nowMs();
    this.#checkedMs = this.#deps.clock.monotonicMs();
    for (const held of this.#held.values()) {
      const { connection, socket } = held;
      if (held.isOverdue || (connection.isRefused && !connection.isBusy)) continue;
      if (held.upgraded !== undefined) {
        if (connection.isReaderStalled(socket, nowMs)) this.#endOverdue(held, "unread");
        else if (held.upgraded !== "opening") held.upgraded.check(nowMs);
        continue;
      }
      const overdue = connection.check(socket, nowMs);
      if (overdue !== undefined) this.#endOverdue(held, overdue);
    }
    this.#deps.events.write();
  }

  /** The request has the connection until its answer has ended. */
  #occupy(held: Held, { request, answer }: Arrived): void {
    const { connection, socket } = held;
    connection.requestBegan(request, answer, socket, this.#nowMs());
    answer.on("close", () => {
      connection.answerEnded(socket, this.#nowMs());
      if (!request.complete && !socket.destroyed) this.#discardRest(held, request);
      if (this.#held.get(socket) === held) this.#beginNext(held);
    });
  }

  /**
   * Lets the connection's last request arrive before the socket is closed, and what follows it: bytes
   * that nobody reads would reset it, and the caller would lose what it hasn't read of the answer.
   */
  #endInOrder(held: Held): void {
    const { connection, socket } = held;
    const { destroySoon } = socket;
    const endInOrder = () => {
      if (connection.isRefused) destroySoon.call(socket);
      else if (!connection.isBodyComplete) socket.end();
      else if (held.last !== undefined) endInStages(socket);
      else destroySoon.call(socket);
    };
    socket.destroySoon = endInOrder;
  }

  #beginNext(held: Held): void {
    const { socket } = held;
    const next = held.pipelined.shift();
    if (next === undefined) return this.#wait(held);
    this.#occupy(held, next);
    if (held.pipelined.length < maxPipelined) held.valve?.open("pipelined");
    // After what others have sent meanwhile.
    setImmediate(() => {
      if (this.#held.get(socket) === held && !held.connection.isRefused) next.begin();
    });
  }

  #endOverdue(held: Held, overdue: Overdue): void {
    const { connection, socket, peer } = held;
    held.isOverdue = true;
    if (overdue !== "idle") this.#deps.events.ended(overdue, peer);
    const getsAnswer = (overdue === "slow_head" && connection.hasHeadBegun) ||
      (overdue === "slow_body" && connection.isAnswerable);
    if (getsAnswer) this.refuse(socket, "too_slow");
    else socket.destroy();
  }

  #followChunks(held: Held, request: IncomingMessage): void {
    if (!(request instanceof CountedMessage)) return;
    if (held.chunks === undefined) {
      const { socket } = held;
      const chunks = held.chunks = new ChunkWatch();
      // `socket.bytesRead` is ahead of the parser: bytes wait in a TLS socket that was paused.
      let parsedBytes = 0;
      afterEachRead(socket, (bytes) => {
        parsedBytes += bytes;
        const pieces = chunks.piecesOfRead();
        if (pieces > chunksPerMs) this.#rest(held, pieces / chunksPerMs);
        if (!chunks.hasTooMuch(parsedBytes) || held.connection.isRefused) return;
        this.#deps.events.ended("chunk_overhead", held.peer);
        this.refuse(socket, "malformed");
      });
    }
    held.chunks.follow(request);
    request.joinChunks();
  }

  /**
   * Of the connections that rest, one at a time reads on: others have their turn in between. It
   * postpones the next one by as long as its read took; one that has just begun postpones nobody, so
   * that new connections don't keep those that rest from ever reading on.
   */
  #rest(held: Held, ms: number): void {
    held.valve?.shut("resting");
    this.#resting.push(held);
    if (this.#restTimer === undefined || held === this.#readOn) {
      this.#readNextIn(Math.max(minRestMs, ms));
    }
  }

  #readNextIn(ms: number): void {
    clearTimeout(this.#restTimer);
    this.#restTimer = setTimeout(() => {
      do this.#readOn = this.#resting.shift(); while (this.#readOn?.socket.destroyed);
      this.#readOn?.valve?.open("resting");
      this.#restTimer = undefined;
      if (this.#resting.length > 0) this.#readNextIn(minRestMs);
    }, ms);
  }

  /**
   * Reads the rest of a request that was answered before its end: many clients look for an answer
   * only once they have sent everything. Its rate is watched like any body's.
   */
  #discardRest(held: Held, request: IncomingMessage): void {
    const { socket } = held;
    const isHooked = held.answeredEarly !== undefined;
    held.answeredEarly = { request, untilBytes: socket.bytesRead + maxDiscardedBytes };
    request.once("end", () => socket.writableEnded && socket.destroySoon());
    request.resume();
    if (isHooked) return;
    afterEachRead(socket, () => {
      const early = held.answeredEarly;
      if (early?.request.complete === false && socket.bytesRead > early.untilBytes) {
        socket.destroy();
      }
    });
  }

  /** Discards what follows the connection's last request. */
  #ignoreRest(held: Held): void {
    if (held.isFollowed) return;
    held.isFollowed = true;
    // Its parser is in the middle of a read.
    setImmediate(() => deafen(held.socket));
  }

  /**
   * Refuses a connection for which there is no room. During a TLS handshake there is no way to say
   * why, and in a crowd only a few are told; the others are closed.
   */
  #sendAway(socket: Socket, isShaking: boolean): void {
    if (isShaking || this.#refusing >= maxRefusalsAtOnce) return void socket.destroy();
    this.#refusing++;
    socket.once("close", () => this.#refusing--);
    refuse(socket, this.#deps.refuse("full"));
  }

  /**
   * Makes room by ending a connection that only waits. Returns why there is none; undefined if
   * there is.
   */
  #makeRoom(crowd: Crowd<Held>): "full" | "peer_full" | undefined {
    if (crowd.size >= this.#deps.limits.maxPerPeer) {
      if (crowd.oldestSilent === undefined) return "peer_full";
      this.#end(crowd.oldestSilent, "made_room");
    }
    if (this.size < this.most) return undefined;
    const held = this.#nextToEnd();
    if (held === undefined) return "full";
    this.#end(held, "made_room");
    return undefined;
  }

  /**
   * Of those that have waited longest, the one whose address has the most connections: a crowd from
   * many addresses must not end a caller's only one before its request is read.
   */
  #nextToEnd(): Held | undefined {
    let found: Held | undefined;
    let largest = 0;
    for (const held of this.#all.longestWaiting(candidates)) {
      const { size } = this.#peers.get(held.peer)!;
      if (size > largest) [found, largest] = [held, size];
    }
    return found;
  }

  #end(held: Held, reason: EndReason): void {
    this.#deps.events.ended(reason, held.peer);
    this.#drop(held.socket);
    held.socket.destroy();
  }

  #add(held: Held, crowd: Crowd<Held>): void {
    this.#held.set(held.socket, held);
    this.#all.size++;
    this.#deps.events.changed(1);
    crowd.size++;
    this.#wait(held);
  }

  /** Forgets a connection that is gone. */
  #drop(socket: Socket): void {
    const held = this.#held.get(socket);
    if (held === undefined) return;
    this.#held.delete(socket);
    this.#leave(held);
    this.#all.size--;
    this.#deps.events.changed(-1);
    const crowd = this.#peers.get(held.peer);
    if (crowd !== undefined && --crowd.size === 0) this.#peers.delete(held.peer);
  }

  #wait(held: Held): void {
    this.#all.wait(held);
    this.#peers.get(held.peer)?.wait(held);
  }

  #leave(held: Held): void {
    this.#all.leave(held);
    this.#peers.get(held.peer)?.leave(held);
  }

  /**
   * Returns the time, with each long pause of this process counted as a short one, since it could
   * hear no caller meanwhile.
   */
  #nowMs(): number {
    const sinceMs = this.#deps.clock.monotonicMs() - this.#checkedMs;
    return this.#countedMs + Math.min(sinceMs, 2 * this.#everyMs);
  }
}

export interface ConnectionsDeps {
  readonly limits: ConnectionLimits;
  readonly clock: Clock;
  readonly events: ConnectionEvents;
  /** Makes the answer to a caller who is refused. */
  refuse(why: Unreadable): Refusal;
}

/** A connection that is switching protocols. */
export interface Upgrading {
  opened(open: OpenSocket): void;
  working(isWorking: boolean): void;
  refuse(refusal: Refusal): void;
}

/** A connection that waits: without a complete request so far, or between requests. */
interface Waiter {
  readonly isServed: boolean;
}

/**
 * The connections of all peers or of one. Those without a request under way are in the order in
 * which they began to wait.
 */
class Crowd<T extends Waiter> {
  size = 0;
  readonly #silent = new Set<T>();
  readonly #idle = new Set<T>();

  /** The connection has no request under way from now on. */
  wait(one: T): void {
    (one.isServed ? this.#idle : this.#silent).add(one);
  }

  /** The connection has a request under way, or is gone. */
  leave(one: T): void {
    if (!this.#silent.delete(one)) this.#idle.delete(one);
  }

  /** The connection that has been silent longest. */
  get oldestSilent(): T | undefined {
    return this.#silent.values().next().value;
  }

  /** So many that have been silent longest, or, if none is silent, idle longest; the first first. */
  longestWaiting(count: number): T[] {
    const waiting = this.#silent.size > 0 ? this.#silent : this.#idle;
    return waiting.values().take(count).toArray();
  }
}
