import type { ConnectionEvents } from "./connection_events.ts";

/** What became of a connection to our own port. */
export type AcceptProbe =
  /** The listener took a connection meanwhile. */
  | "taken"
  /** It was made, or waits, and the listener takes none. */
  | "not_taken"
  /** So too, but the process was too busy to say whether that means anything. */
  | "too_busy"
  /** This process may open no further file or connection. */
  | "no_descriptor"
  /** It could not be made, as where the port is closed. */
  | "failed";

/** The listener, as far as it is watched. */
export interface AcceptTarget {
  knock(): Promise<AcceptProbe>;
  /** Ends a knock that is under way. */
  leave(): void;
  /** Closes the port and opens it again; callers that are connected notice nothing. */
  reopen(): Promise<void>;
  /** Connections at the moment. */
  readonly size: number;
  /** From now on there may be no more; those without a request are ended until it is so. */
  keepBelow(most: number): void;
}

/** Between two knocks, and after one that was not answered. */
const everyMs = 500;
const soonMs = 100;
/** Of what is open when descriptors ran out, so much may be: files and vendors need the rest. */
const learnedShare = 0.8;
const fewest = 8;
/** So much of a knock that was not answered is one of a busy process. */
const busyPart = 0.02;

/**
 * Knocks at our own port twice a second, unless callers do: when descriptors run out the runtime stops to take
 * connections for good, and says so to nobody. Then those that are silent are ended, fewer are
 * taken from now on, and the port is opened anew.
 */
export class AcceptWatch {
  readonly #door: AcceptTarget;
  readonly #events: ConnectionEvents;
  readonly #onTaken: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  /** A knock was answered once, so that an unanswered one means something. */
  #hasWorked = false;
  #unanswered = 0;
  /** Descriptors ran out since the last answer. */
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

  /** One knock, and what follows from it. */
  async look(): Promise<void> {
    const knock = await this.#door.knock();
    if (this.#isClosed) return;
    if (knock === "taken") return this.#answered();
    if (knock === "no_descriptor") this.#leaveRoom();
    // A loop with much to do reads from who is connected before it takes others, for seconds: to
    // open the port anew would turn all away who wait there.
    this.#unanswered += knock === "too_busy" ? busyPart : 1;
    // Once may be a moment without time for it. Without descriptors the port is lost already.
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
        "no descriptor is left (ulimit -n): connections without a request are ended, and fewer are taken from now on",
        { connections: open, most },
      );
    }
    this.#ranOut = true;
    this.#door.keepBelow(most);
  }

  async #reopen(): Promise<void> {
    this.#events.error("the listener took no connections any more; its port is opened anew", {
      connections: this.#door.size,
    });
    // Callers come in a crowd when it opens.
    if (!this.#ranOut) this.#door.keepBelow(Math.max(fewest, this.#door.size));
    try {
      await this.#door.reopen();
    } catch (thrown) {
      const cause = thrown instanceof Error ? thrown.message : String(thrown);
      this.#events.error("the port could not be opened anew; it is tried again", { cause });
    }
  }

  #next(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.look(), ms);
  }
}
