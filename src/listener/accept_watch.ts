import type { ConnectionEvents } from "./connection_events.ts";

/** The outcome of a knock: of a connection to our own port. */
export type AcceptProbe =
  /** The listener accepted a connection meanwhile. */
  | "taken"
  /** The connection was made, or waits, but the listener accepts none. */
  | "not_taken"
  /** The same, but the process was too busy for that to mean anything. */
  | "too_busy"
  /** This process has no file descriptor left for a file or connection. */
  | "no_descriptor"
  /** The connection could not be made, for instance because the port is closed. */
  | "failed";

/** The listener that is watched. */
export interface AcceptTarget {
  knock(): Promise<AcceptProbe>;
  /** Ends a knock that is under way. */
  leave(): void;
  /** Closes the port and opens it again; connected callers notice nothing. */
  reopen(): Promise<void>;
  /** Current number of connections. */
  readonly size: number;
  /**
   * Limits the number of connections from now on; those without a request are ended until it's met.
   */
  keepBelow(most: number): void;
}

/** Time between two knocks, and before the next one after a knock that was not accepted. */
const everyMs = 500;
const soonMs = 100;
/**
 * When descriptors run out, connections are limited to this share of those open: files and requests
 * to vendors need the rest.
 */
const learnedShare = 0.8;
const fewest = 8;
/**
 * How much a knock that was not accepted counts while the process is busy; otherwise it counts 1.
 */
const busyPart = 0.02;

/**
 * Knocks at our own port twice a second, unless callers connect anyway: when descriptors run out,
 * the runtime stops accepting connections for good and doesn't report it. Then silent connections
 * are ended, fewer are accepted from now on, and the port is reopened.
 */
export class AcceptWatch {
  readonly #door: AcceptTarget;
  readonly #events: ConnectionEvents;
  readonly #onTaken: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  /** A knock was accepted once, so it means something if one isn't. */
  #hasWorked = false;
  #unanswered = 0;
  /** Descriptors have run out since a connection was last accepted. */
  #ranOut = false;

  constructor(door: AcceptTarget, events: ConnectionEvents, onTaken: () => void) {
    this.#door = door;
    this.#events = events;
    this.#onTaken = onTaken;
  }

  start(): void {
    this.#next(everyMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#door.leave();
  }

  /** Knocks once, and acts on the outcome. */
  async check(): Promise<void> {
    const knock = await this.#door.knock();
    if (this.#isClosed) return;
    if (knock === "taken") return this.#answered();
    if (knock === "no_descriptor") this.#leaveRoom();
    // For seconds, a busy event loop reads from open connections before it accepts others:
    // reopening the port would turn away everyone who waits there.
    this.#unanswered += knock === "too_busy" ? busyPart : 1;
    // A single knock may just have come at a busy moment. After descriptors ran out, one is enough:
    // the port is lost already.
    const isDeaf = this.#hasWorked && knock !== "no_descriptor" &&
      (this.#ranOut || this.#unanswered > 1);
    if (isDeaf) await this.#reopen();
    this.#next(soonMs);
  }

  #answered(): void {
    this.#hasWorked = true;
    this.#unanswered = 0;
    this.#ranOut = false;
    this.#onTaken();
    this.#next(everyMs);
  }

  #leaveRoom(): void {
    const open = this.#door.size;
    const most = Math.max(fewest, Math.floor(open * learnedShare));
    if (!this.#ranOut) {
      this.#events.error(
        "no file descriptors left (ulimit -n): ending connections without a request and accepting fewer from now on",
        { connections: open, most },
      );
    }
    this.#ranOut = true;
    this.#door.keepBelow(most);
  }

  async #reopen(): Promise<void> {
    this.#events.error("the listener stopped accepting connections; reopening its port", {
      connections: this.#door.size,
    });
    // Callers arrive in a crowd when the port opens.
    if (!this.#ranOut) this.#door.keepBelow(Math.max(fewest, this.#door.size));
    try {
      await this.#door.reopen();
    } catch (thrown) {
      const cause = thrown instanceof Error ? thrown.message : String(thrown);
      this.#events.error("the port could not be reopened; retrying", { cause });
    }
  }

  #next(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.check(), ms);
  }
}
