import type { IncomingMessage } from "node:http";

/** A request for a WebSocket that has not been answered. Exactly one of its methods is called. */
export interface SocketOffer {
  readonly request: IncomingMessage;
  /** Says in HTTP why not, and closes the connection. */
  refuse(answer: SocketRefusal): void;
  /** Switches protocols; undefined if the caller has left, or its handshake is wrong. */
  accept(receiver: FrameReceiver): FrameChannel | undefined;
}

/** An answer in HTTP, in place of a WebSocket. */
export interface SocketRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The service's end of an open WebSocket. Frames in both directions hold text. */
export interface FrameChannel {
  /**
   * Sends a text frame; false if the caller is behind: wait for `drained`. Dropped once the socket is
   * closed.
   */
  send(text: string): boolean;
  /** Shows the caller that the connection lives, while there is nothing to send. */
  ping(): void;
  /** Reads no more from the caller until `resume`. */
  pause(): void;
  resume(): void;
  /** A call is under way, or no longer: an idle socket may be closed for others. */
  working(isWorking: boolean): void;
  /** Sends a close frame (RFC 6455 §7.4.1); later calls do nothing. */
  close(code: number, reason: string): void;
}

/** What takes a WebSocket's events, one at a time. */
export interface FrameReceiver {
  /** So many bytes of a message have arrived; the message itself comes when it is whole. */
  arrived(bytes: number): void;
  message(bytes: Uint8Array): void;
  /** After `send` returned false, there is room again. */
  drained(): void;
  /** The connection is gone. Called once, last. */
  closed(): void;
  /** Called about once a second, with the time in which callers were heard. */
  look(nowMs: number): void;
  /** The service stops: close as soon as nothing is under way. */
  leave(): void;
}

export interface SocketHandler {
  /** False leaves the request to what answers ordinary requests. */
  takes(request: IncomingMessage): boolean;
  take(offer: SocketOffer): void;
}
