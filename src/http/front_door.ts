import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { type Clock, systemClock } from "../base/clock.ts";
import type { ErrorDialect } from "../../contracts/kernel/contract.ts";
import { type SetTimer, systemSetTimer } from "../base/deadline.ts";
import type { Admission, Overloaded } from "../overload/admission.ts";
import { Fault } from "../shared/fault.ts";
import { errorReply } from "./errors.ts";
import { pathOf } from "./http_request.ts";
import { securityHeaders } from "./respond.ts";
import { requestIdHeaders } from "../../contracts/kernel/client_headers.ts";

export type Credential = (name: "authorization" | "x-api-key" | "x-goog-api-key") =>
  | string
  | undefined;

export interface FrontDoorDeps {
  admission: Pick<Admission, "enter" | "ended" | "pacePerSecond">;
  errorDialect: (path: string) => ErrorDialect;
  setTimer?: SetTimer;
  clock?: Pick<Clock, "monotonicMs">;
}

export function createFrontDoor(deps: FrontDoorDeps): FrontDoor {
  return new FrontDoor(deps);
}

/**
 * Delay before a refusal is sent: otherwise callers that retry at once would keep the process busy
 * with refusals alone.
 */
const sendAfterMs = 500;
const sendEveryMs = 10;
/**
 * A refusal, with its connection, takes a tenth of the time of a call: so refusals take at most a
 * fifth of the process's time.
 */
const refusalsPerCall = 2;
const refusalsPerSecond = { least: 100, most: 600 };
/** Limit on the refusals that are sent at once after the event loop was blocked. */
const maxSentAtOnce = 64;
/** Limit on the refusals that are held back; further ones are sent without delay. */
const maxHeld = 2_000;
const maxKnown = 20_000;

/**
 * Load shedding in front of the application: excess requests are refused before any processing, at a
 * fraction of the cost of a call.
 */
export class FrontDoor {
  readonly #deps: FrontDoorDeps;
  readonly #setTimer: SetTimer;
  readonly #seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  /** Hash of the credential → account; no key is stored. */
  readonly #accounts = new Map<number, string>();
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By dialect and `Retry-After`: few combinations. */
  readonly #refusals = new Map<string, Refusal>();
  /** Refusals to be sent, the next first. */
  readonly #held: Held[] = [];
  #sentMs = 0;
  /** How many may be sent now; the fraction carries over. */
  #maySend = 1;

  constructor(deps: FrontDoorDeps) {
    this.#deps = deps;
    this.#setTimer = deps.setTimer ?? systemSetTimer;
    this.#clock = deps.clock ?? systemClock;
  }

  /** Maps a credential to its account, so that the account's calls are counted together. */
  knows(credential: Credential, accountId: number): void {
    const hash = this.#hashOf(credential);
    if (hash === undefined || this.#accounts.has(hash)) return;
    if (this.#accounts.size >= maxKnown) this.#accounts.clear();
    this.#accounts.set(hash, String(accountId));
  }

  guard(listener: RequestListener): RequestListener {
    return (incoming, outgoing) => {
      const path = pathOf(incoming.url ?? "");
      if (isOpen(path)) return listener(incoming, outgoing);
      const who = this.#whoOf(incoming);
      const { admission } = this.#deps;
      const begin = () => listener(incoming, outgoing);
      const noRoom = admission.enter(who, incoming, begin);
      if (noRoom !== undefined) return this.#refuse(incoming, outgoing, path, noRoom);
      outgoing.on("close", () => admission.ended(incoming));
    };
  }

  /**
   * Begins a call over a connection that `incoming` opened (a WebSocket) once there is room for it,
   * or returns when to retry. `ended` must be called after a call that was not refused.
   */
  enter(incoming: IncomingMessage, call: object, begin: () => void): Overloaded | undefined {
    return this.#deps.admission.enter(this.#whoOf(incoming), call, begin);
  }

  ended(call: object): void {
    this.#deps.admission.ended(call);
  }

  /** Unknown callers count by address, so that made-up keys give no advantage. */
  #whoOf({ headers, socket }: IncomingMessage): string {
    const hash = this.#hashOf((name) => {
      const value = headers[name];
      return typeof value === "string" ? value : undefined;
    });
    const account = hash === undefined ? undefined : this.#accounts.get(hash);
    return account ?? `address ${socket.remoteAddress}`;
  }

  #hashOf(credential: Credential): number | undefined {
    const text = credential("authorization") ?? credential("x-api-key") ??
      credential("x-goog-api-key");
    return text === undefined ? undefined : hashOf(text, this.#seed);
  }

  #refuse(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    path: string,
    noRoom: Overloaded,
  ): void {
    const sent = incoming.headers["x-request-id"] ?? incoming.headers["idempotency-key"];
    // It must be valid in a header and, without escaping, in JSON.
    const requestId = typeof sent === "string" && /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(sent)
      ? sent
      : crypto.randomUUID();
    const dialect = this.#deps.errorDialect(path);
    const { status, headers, pieces } = this.#refusalIn(dialect, noRoom);
    const body = pieces.join(requestId);
    const send = () => {
      if (outgoing.destroyed) return false;
      outgoing.writeHead(status, [
        ...headers,
        ...Object.entries(requestIdHeaders(requestId, dialect)).flat(),
        "content-length",
        String(body.length),
      ]);
      outgoing.end(body);
      return true;
    };
    if (this.#held.length >= maxHeld) return void send();
    this.#held.push({ atMs: this.#clock.monotonicMs() + sendAfterMs, send });
    if (this.#held.length > 1) return;
    this.#maySend = 1;
    this.#sentMs = this.#clock.monotonicMs() + sendAfterMs;
    this.#setTimer(sendAfterMs, () => this.#send());
  }

  /** Sends due refusals, a few at a time, so that callers don't retry all together. */
  #send(): void {
    const nowMs = this.#clock.monotonicMs();
    const { least, most } = refusalsPerSecond;
    const perSecond = this.#deps.admission.pacePerSecond * refusalsPerCall;
    const perMs = Math.max(least, Math.min(most, perSecond)) / 1000;
    this.#maySend = Math.min(maxSentAtOnce, this.#maySend + (nowMs - this.#sentMs) * perMs);
    this.#sentMs = nowMs;
    let taken = 0;
    for (; this.#maySend >= 1; taken++) {
      const next = this.#held[taken];
      if (next === undefined || next.atMs > nowMs) break;
      // Callers who have left don't count.
      if (next.send()) this.#maySend--;
    }
    this.#held.splice(0, taken);
    if (this.#held.length > 0) this.#setTimer(sendEveryMs, () => this.#send());
  }

  /** The dialect's refusal, without the request's id. */
  #refusalIn(dialect: ErrorDialect, { retryAfterSeconds }: Overloaded): Refusal {
    const kind = `${dialect} ${retryAfterSeconds}`;
    const cached = this.#refusals.get(kind);
    if (cached !== undefined) return cached;
    const fault = new Fault("overloaded", { retryAfterSeconds });
    const { status, headers, body } = errorReply(fault, dialect, idMark);
    const made = {
      status,
      headers: Object.entries({ ...headers, ...securityHeaders }).flat(),
      pieces: String(body).split(idMark),
    };
    this.#refusals.set(kind, made);
    return made;
  }
}

/** A refusal in the queue. */
interface Held {
  readonly atMs: number;
  /** False if the caller has left. */
  send(): boolean;
}

/** An encoded refusal without the request's id. */
interface Refusal {
  readonly status: number;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  /** The ASCII body, split where the id goes. */
  readonly pieces: readonly string[];
}

/** Placeholder of the request's id. */
const idMark = "00000000-0000-0000-0000-000000000000";

/**
 * Probes, metrics and the dashboard are never refused. The router resolves dot segments, so a path
 * with one may lead out of the dashboard: it is counted like any other.
 */
function isOpen(path: string): boolean {
  return path === "/livez" || path === "/readyz" || path === "/metrics" || path === "/" ||
    path === "/dashboard" || (path.startsWith("/dashboard/") && !dotSegment.test(path));
}

const dotSegment = /\/(?:\.|%2e)/i;

/** A fast, seeded, non-cryptographic hash (cyrb53). */
function hashOf(text: string, seed: number): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}
