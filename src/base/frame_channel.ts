import type { IncomingMessage } from "node:http";

/** A request for a WebSocket that has not been answered. Exactly one of its methods is called. */
export interface SocketOffer {
  readonly request: IncomingMessage;
  /** Answers with an HTTP response that says why, and closes the connection. */
  refuse(answer: SocketRefusal): void;
  /** Switches protocols; undefined if the caller has left, or its handshake is wrong. */
  accept(receiver: FrameReceiver): FrameChannel | undefined;
}

/** An HTTP response instead of a WebSocket. */
export interface SocketRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The service's end of an open WebSocket. Frames in both directions hold text. */
export interface FrameChannel {
  /** Whether one side has sent a close frame, or has left: nothing can be sent any more. */
  readonly isClosing: boolean;
  /**
   * Sends a text frame; false if the caller is behind: wait for `drained`. Dropped once the socket is
   * closed.
   */
  send(text: string): boolean;
  /** Shows the caller that the connection is alive while there is nothing to send. */
  ping(): void;
  /** Reads no more from the caller until `resume`. */
  pause(): void;
  resume(): void;
  /** Tells whether a call is under way: an idle socket may be closed to make room for others. */
  working(isWorking: boolean): void;
  /** Sends a close frame (RFC 6455 §7.4.1); later calls do nothing. */
  close(code: number, reason: string): void;
}

/** Receives a WebSocket's events, one at a time. */
export interface FrameReceiver {
  /**
   * `bytes` more of a message have arrived; `message` follows when it is complete, unless the socket
   * is closing by then.
   */
  arrived(bytes: number): void;
  message(bytes: Uint8Array): void;
  /** There is room again after `send` returned false. */
  drained(): void;
  /** The connection is gone. Called once, last. */
  closed(): void;
  /**
   * Called about once a second. `nowMs` doesn't count time in which the process was blocked and
   * could read nothing.
   */
  check(nowMs: number): void;
  /** The service is stopping: close as soon as no call is under way. */
  leave(): void;
}

export interface SocketHandler {
  /** Whether this handler takes the request; otherwise it is answered like any other request. */
  takes(request: IncomingMessage): boolean;
  take(offer: SocketOffer): void;
}
