import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../base/clock.ts";
import { Connection, type Overdue } from "./connection.ts";
import { ChunkWatch, CountedMessage } from "./counted_message.ts";
import type { ConnectionLimits } from "./limits.ts";
import type { ConnectionEvents, EndReason } from "./connection_events.ts";
import { writePiecewise } from "./piecewise.ts";
import { type Refusal, refuse, type Unreadable } from "./refusal.ts";
import { afterEachRead } from "./runtime_http.ts";
import type { OpenSocket } from "./web_socket.ts";

/** A connection with what it hangs on. */
class Held {
  chunks: ChunkWatch | undefined;
  /** A request that was answered before its end, and up to where its connection is read. */
  answeredEarly: { request: IncomingMessage; untilBytes: number } | undefined;
  /** It speaks WebSocket, or is about to. */
  upgraded: OpenSocket | "opening" | undefined;
  /** A call of its WebSocket is under way. */
  isWorking = false;

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

/** They stand for a second, so that their callers read it. */
const maxRefusalsAtOnce = 16;

const mostReadAwayBytes = 64 * 1024 * 1024;

/**
 * All open connections: how many there may be, in all and of one address, and how long each may
 * take over what it sends and reads. One look at all of them, each second at most, does for all.
 */
export class Connections {
  /** At most `limits.most`; less where descriptors run out earlier. */
  most: number;
  /** Accepted so far. */
  accepted = 0;

  readonly #deps: ConnectionsDeps;
  readonly #held = new Map<Socket, Held>();
  readonly #all = new Crowd<Held>();
  readonly #peers = new Map<string, Crowd<Held>>();
  readonly #everyMs: number;
  /** When it was looked last, by the clock, and by the time in which callers were listened to. */
  #lookedMs: number;
  #countedMs = 0;
  /** Connections that are being told that there is no room for them. */
  #refusing = 0;
  readonly #looking: ReturnType<typeof setInterval>;

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
    this.most = deps.limits.most;
    const { headMs, bodyMs, idleMs, unreadMs } = deps.limits;
    const shortest = Math.min(headMs, bodyMs, idleMs, unreadMs);
    this.#everyMs = Math.max(20, Math.min(1_000, shortest / 8));
    this.#lookedMs = deps.clock.monotonicMs();
    this.#looking = setInterval(() => this.look(), this.#everyMs);
  }

  get size(): number {
    return this.#all.size;
  }

  /** Takes a connection in; false when it was closed instead. */
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

  /** The connection speaks HTTP from now on, over TLS in the socket that is given. */
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
    writePiecewise(socket, () => held.connection.piecesTaken++);
  }

  /** False when the connection was refused already: nothing of it is answered any more. */
  requestBegan(request: IncomingMessage, answer: ServerResponse): boolean {
    const { socket } = request;
    const held = this.#held.get(socket);
    if (held === undefined || held.connection.isRefused) return false;
    const { connection } = held;
    if (!connection.isBusy) this.#leave(held);
    connection.requestBegan(request, answer, socket, this.#nowMs());
    if (request.headers["transfer-encoding"] !== undefined) this.#followChunks(held, request);
    answer.on("close", () => {
      connection.answerEnded(socket, this.#nowMs());
      if (!request.complete && !socket.destroyed) this.#readAway(held, request);
      if (!connection.isBusy && this.#held.get(socket) === held) this.#wait(held);
    });
    return true;
  }

  /**
   * The connection asks for another protocol. What opens it, once the request is answered; undefined
   * when the connection was refused already.
   */
  upgrading(socket: Socket): Upgrading | undefined {
    const held = this.#held.get(socket);
    if (held === undefined || held.connection.isRefused) return undefined;
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

  /** Ends a connection whose next request can't be read; answers under way are cut. */
  refuse(socket: Socket, why: Unreadable): void {
    const connection = this.#held.get(socket)?.connection;
    // What is sent on is wrong again; it was refused already.
    if (connection?.isRefused) return;
    if (connection) connection.isRefused = true;
    if (connection?.isAnswerable === false) return void socket.destroy();
    refuse(socket, this.#deps.refuse(why));
  }

  /** No request of this connection is answered after the one that is. */
  refuseFurther(socket: Socket): void {
    const connection = this.#held.get(socket)?.connection;
    if (connection) connection.isRefused = true;
  }

  peerOf(socket: Socket): string {
    return this.#held.get(socket)?.peer ?? "";
  }

  /** Ends those without a request until no more than `most` are open, silent ones first. */
  shrink(): void {
    while (this.size > this.most) {
      const held = this.#all.oldest;
      if (held === undefined) return;
      this.#end(held, "made_room");
    }
  }

  /** Ends all that have no request under way. */
  endWaiting(): void {
    for (const { connection, socket, upgraded } of this.#held.values()) {
      if (upgraded === "opening") continue;
      if (upgraded !== undefined) upgraded.receiver.leave();
      else if (!connection.isBusy) socket.destroy();
    }
  }

  endAll(): void {
    for (const socket of this.#held.keys()) socket.destroy();
  }

  close(): void {
    clearInterval(this.#looking);
  }

  /** Ends what takes too long. */
  look(): void {
    const nowMs = this.#countedMs = this.#nowMs();
    this.#lookedMs = this.#deps.clock.monotonicMs();
    for (const held of this.#held.values()) {
      const { connection, socket } = held;
      if (connection.isRefused && !connection.isBusy) continue;
      if (held.upgraded !== undefined) {
        if (connection.lookAtReader(socket, nowMs)) this.#endOverdue(held, "unread");
        else if (held.upgraded !== "opening") held.upgraded.look(nowMs);
        continue;
      }
      const overdue = connection.look(socket, nowMs);
      if (overdue !== undefined) this.#endOverdue(held, overdue);
    }
    this.#deps.events.write();
  }

  #endOverdue(held: Held, overdue: Overdue): void {
    const { connection, socket, peer } = held;
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
      afterEachRead(socket, () => {
        if (!chunks.hasTooMuch(socket.bytesRead) || held.connection.isRefused) return;
        this.#deps.events.ended("chunk_overhead", held.peer);
        this.refuse(socket, "malformed");
      });
    }
    held.chunks.follow(request);
  }

  /**
   * Reads the rest of a request that was answered before its end: many clients look for an answer
   * only once they have sent everything. Its rate is watched like any body's.
   */
  #readAway(held: Held, request: IncomingMessage): void {
    const { socket } = held;
    const isHooked = held.answeredEarly !== undefined;
    held.answeredEarly = { request, untilBytes: socket.bytesRead + mostReadAwayBytes };
    request.resume();
    if (isHooked) return;
    afterEachRead(socket, () => {
      const early = held.answeredEarly;
      if (early?.request.complete === false && socket.bytesRead > early.untilBytes) {
        socket.destroy();
      }
    });
  }

  /** TLS has no words for it before its handshake, and a crowd isn't told one by one. */
  #sendAway(socket: Socket, isShaking: boolean): void {
    if (isShaking || this.#refusing >= maxRefusalsAtOnce) return void socket.destroy();
    this.#refusing++;
    socket.once("close", () => this.#refusing--);
    refuse(socket, this.#deps.refuse("full"));
  }

  /** Why there is no room, after those that only wait were sent away for it. */
  #makeRoom(crowd: Crowd<Held>): "full" | "peer_full" | undefined {
    if (crowd.size >= this.#deps.limits.mostPerPeer) {
      if (crowd.oldestSilent === undefined) return "peer_full";
      this.#end(crowd.oldestSilent, "made_room");
    }
    if (this.size < this.most) return undefined;
    const oldest = this.#all.oldest;
    if (oldest === undefined) return "full";
    this.#end(oldest, "made_room");
    return undefined;
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

  /** It is gone. */
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

  /** While this process stood still it heard no caller: such a pause counts as a short one. */
  #nowMs(): number {
    const sinceMs = this.#deps.clock.monotonicMs() - this.#lookedMs;
    return this.#countedMs + Math.min(sinceMs, 2 * this.#everyMs);
  }
}

export interface ConnectionsDeps {
  readonly limits: ConnectionLimits;
  readonly clock: Clock;
  readonly events: ConnectionEvents;
  /** What who is refused is told. */
  refuse(why: Unreadable): Refusal;
}

/** A connection between two protocols. */
export interface Upgrading {
  opened(open: OpenSocket): void;
  working(isWorking: boolean): void;
  refuse(refusal: Refusal): void;
}

/** Anything that waits: without a whole request so far, or between requests. */
interface Waiter {
  readonly isServed: boolean;
}

/** Connections of all peers or of one, those without a request under way in order of their age. */
class Crowd<T extends Waiter> {
  size = 0;
  readonly #silent = new Set<T>();
  readonly #idle = new Set<T>();

  /** It has no request under way from now on. */
  wait(one: T): void {
    (one.isServed ? this.#idle : this.#silent).add(one);
  }

  /** It has one, or is gone. */
  leave(one: T): void {
    if (!this.#silent.delete(one)) this.#idle.delete(one);
  }

  /** The one that has been silent longest. */
  get oldestSilent(): T | undefined {
    return this.#silent.values().next().value;
  }

  /** The one that is missed least: silent longest, else idle longest. */
  get oldest(): T | undefined {
    return this.oldestSilent ?? this.#idle.values().next().value;
  }
}
