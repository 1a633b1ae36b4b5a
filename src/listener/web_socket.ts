import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { WebSocketServer } from "ws";
import type { FrameChannel, FrameReceiver } from "../base/frame_channel.ts";

/**
 * The WebSocket protocol, implemented by the package `ws`: frames, masks, fragments, UTF-8, the
 * closing handshake.
 */
export interface WebSockets {
  /**
   * Answers the handshake with 101, or refuses it with 400 or 426 and closes the connection; then
   * returns undefined.
   */
  open(
    request: IncomingMessage,
    socket: Socket,
    head: Uint8Array,
    options: { receiver: FrameReceiver; working(isWorking: boolean): void },
  ): OpenSocket | undefined;
}

/** An open WebSocket, as the listener holds it. */
export interface OpenSocket {
  readonly channel: FrameChannel;
  readonly receiver: FrameReceiver;
  /** Checks whether the caller is still there; called about once a second. */
  check(nowMs: number): void;
}

/** A larger message closes its socket with code 1009. */
export function createWebSockets(maxMessageBytes: number): WebSockets {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    // The size of a compressed message is unknown before it's inflated, and compression takes a
    // window of memory per socket.
    perMessageDeflate: false,
    // Pings are answered below, as long as the caller reads.
    autoPong: false,
    // One message per turn of the event loop. A piece from the network may hold ten thousand small
    // ones, which at once would let nobody else have a turn.
    allowSynchronousEvents: false,
    closeTimeout: closeMs,
  }) as unknown as PackageServer;
  return {
    open(request, socket, head, options) {
      let opened: OpenSocket | undefined;
      // The package calls back before it returns, or not at all.
      server.handleUpgrade(request, socket, head, (webSocket) => {
        opened = new Channel(webSocket, socket, options);
      });
      return opened;
    },
  };
}

/** How long a caller may take to answer a close frame. */
const closeMs = 2_000;
/** After this long without a byte from the caller, a ping asks whether it's there … */
const pingAfterMs = 30_000;
/** … and after this long the connection is ended. */
const silentMs = 75_000;
/** Bytes that may wait for the caller before `send` returns false. */
const behindBytes = 64 * 1024;
/** A caller that is further behind reads nothing: the next `send` ends its connection. */
const maxBehindBytes = 4 * 1024 * 1024;

/** The part of the package that is used. */
interface PackageServer {
  handleUpgrade(
    request: IncomingMessage,
    socket: Socket,
    head: Uint8Array,
    done: (webSocket: PackageSocket) => void,
  ): void;
}

interface PackageSocket {
  readonly bufferedAmount: number;
  readonly readyState: number;
  on(event: "message", listener: (data: Uint8Array, isBinary: boolean) => void): void;
  on(event: "ping" | "pong", listener: (data: Uint8Array) => void): void;
  on(event: "close" | "error", listener: () => void): void;
  send(text: string): void;
  ping(): void;
  pong(data: Uint8Array): void;
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

const openState = 1;

class Channel implements OpenSocket, FrameChannel {
  readonly receiver: FrameReceiver;
  readonly channel: FrameChannel = this;
  readonly #webSocket: PackageSocket;
  readonly #socket: Socket;
  readonly #working: (isWorking: boolean) => void;
  #read = 0;
  #readMs: number | undefined;
  #hasAsked = false;
  #isBehind = false;

  constructor(
    webSocket: PackageSocket,
    socket: Socket,
    { receiver, working }: { receiver: FrameReceiver; working(isWorking: boolean): void },
  ) {
    this.receiver = receiver;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#working = working;
    // Before the package's own listener, so that the bytes of a message are counted before it's
    // complete.
    socket.prependListener("data", (piece: Uint8Array) => receiver.arrived(piece.length));
    socket.on("drain", () => this.#drained());
    // Control frames aren't part of a message.
    webSocket.on("ping", (data) => {
      receiver.arrived(-controlBytes(data));
      if (!this.isClosing && !this.#isFull()) webSocket.pong(data);
    });
    webSocket.on("pong", (data) => receiver.arrived(-controlBytes(data)));
    webSocket.on("message", (data, isBinary) => {
      // It was sent before the caller had read our close frame, or by one who has left: nobody would
      // get its answer, and thousands may still wait for their turn.
      if (this.isClosing) receiver.arrived(-data.length);
      else if (isBinary) this.close(1003, "Send text frames.");
      else receiver.message(data);
    });
    // The package closes the socket after an error, with the code that fits it.
    webSocket.on("error", () => {});
    webSocket.on("close", () => receiver.closed());
  }

  get isClosing(): boolean {
    return this.#webSocket.readyState !== openState;
  }

  send(text: string): boolean {
    if (this.isClosing) return true;
    if (this.#webSocket.bufferedAmount > maxBehindBytes) {
      this.#webSocket.terminate();
      return true;
    }
    this.#webSocket.send(text);
    this.#isBehind = this.#isFull();
    return !this.#isBehind;
  }

  ping(): void {
    if (!this.isClosing && !this.#isFull()) this.#webSocket.ping();
  }

  pause(): void {
    this.#webSocket.pause();
  }

  resume(): void {
    this.#webSocket.resume();
  }

  working(isWorking: boolean): void {
    this.#working(isWorking);
  }

  close(code: number, reason: string): void {
    this.#webSocket.close(code, reason);
    // A paused socket would not see the caller's close frame.
    this.#webSocket.resume();
  }

  check(nowMs: number): void {
    const { bytesRead } = this.#socket;
    if (bytesRead !== this.#read || this.#readMs === undefined || this.#socket.isPaused()) {
      this.#read = bytesRead;
      this.#readMs = nowMs;
      this.#hasAsked = false;
    } else if (nowMs - this.#readMs >= silentMs) {
      return this.#webSocket.terminate();
    } else if (nowMs - this.#readMs >= pingAfterMs && !this.#hasAsked) {
      this.#hasAsked = true;
      this.ping();
    }
    this.receiver.check(nowMs);
  }

  #isFull(): boolean {
    return this.#webSocket.bufferedAmount > behindBytes;
  }

  #drained(): void {
    if (!this.#isBehind || this.#isFull()) return;
    this.#isBehind = false;
    this.receiver.drained();
  }
}

/** Bytes of a masked control frame, including its header. */
function controlBytes(data: Uint8Array): number {
  return 6 + data.length;
}
