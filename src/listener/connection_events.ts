import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";

/** Why a connection was refused, or ended before its caller ended it. */
export type EndReason =
  | "slow_handshake"
  | "slow_head"
  | "slow_body"
  | "unread"
  | "chunk_overhead"
  | "malformed"
  | "too_large"
  | "full"
  | "peer_full"
  | "made_room"
  | "stopping";

/** Where connection events are reported. */
export interface ConnectionListeners {
  readonly log: Log;
  /** Adds to the metric of connections that were refused or ended. */
  count(reason: EndReason, connections: number): void;
  /** Called when the number of connections changes. */
  changed(by: number): void;
}

/** However many connections end, each reason gets one log line in this time. */
const lineEveryMs = 10_000;

const explained: Readonly<Record<EndReason, string>> = {
  slow_handshake: "connections ended: their TLS handshake took longer than CALLER_HEAD_TIMEOUT_MS",
  slow_head: "connections ended: no complete request head arrived within CALLER_HEAD_TIMEOUT_MS",
  slow_body:
    "connections ended: their request body stalled or was too slow (CALLER_BODY_TIMEOUT_MS)",
  unread: "connections ended: the caller read nothing of an answer for IDLE_TIMEOUT_MS",
  chunk_overhead: "connections ended: too many bytes around the chunks of a request body",
  malformed: "connections ended: the request is not valid HTTP",
  too_large: "connections ended: their head is too large",
  full: "connections refused: the limit of open connections is reached (CONNECTIONS_MAX)",
  peer_full: "connections refused: their address has reached its limit (CONNECTIONS_PER_PEER_MAX)",
  made_room: "connections without a request ended to make room for new ones",
  stopping: "connections ended: their calls took longer than a stop waits for",
};

/** Counts connection events, and logs them without letting callers flood the log. */
export class ConnectionEvents {
  readonly #clock: Clock;
  readonly #unreported = new Map<EndReason, { connections: number; peer: string }>();
  readonly #loggedAtMs = new Map<EndReason, number>();
  #listeners: ConnectionListeners | undefined;
  #open = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets where events are reported; reports earlier ones now. */
  setListeners(listeners: ConnectionListeners): void {
    this.#listeners = listeners;
    listeners.changed(this.#open);
    for (const [reason, { connections }] of this.#unreported) listeners.count(reason, connections);
  }

  changed(by: number): void {
    this.#open += by;
    this.#listeners?.changed(by);
  }

  ended(reason: EndReason, peer: string): void {
    const { connections = 0 } = this.#unreported.get(reason) ?? {};
    this.#unreported.set(reason, { connections: connections + 1, peer });
    this.#listeners?.count(reason, 1);
  }

  error(message: string, fields: Readonly<Record<string, number | string>> = {}): void {
    this.#listeners?.log.error(message, fields);
  }

  /** Writes the log lines that are due. */
  write(): void {
    if (this.#listeners === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    for (const [reason, { connections, peer }] of this.#unreported) {
      if (nowMs - (this.#loggedAtMs.get(reason) ?? -Infinity) < lineEveryMs) continue;
      this.#loggedAtMs.set(reason, nowMs);
      this.#unreported.delete(reason);
      this.#listeners.log.warn(explained[reason], { reason, connections, last_peer: peer });
    }
  }
}
