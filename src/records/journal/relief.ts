import type { Clock } from "../../base/clock.ts";
import { finish } from "../../base/steps.ts";
import { Fault } from "../../shared/fault.ts";
import { CallReader, recordOf } from "./calls.ts";
import { createRoom, type EncodedRecord, encodeRecord, scanRecords } from "./records.ts";
import type { Segment } from "./segment.ts";
import type { OpenCall, OpenCalls } from "./state.ts";

/** An upper limit: at a start, a quarter of a large journal would take too long to read. */
const maxHeldBytes = 256 * 1024 * 1024;
const pauseMs = 1000;
/** Bytes that are read before the event loop gets a turn. */
const pieceBytes = 512 * 1024;

/** Throws if calls of the account, in flight or unloaded, already fill much of the journal. */
export function refuseCrowding(
  accountId: number,
  journal: { bytes: number; maxBytes: number; openCalls: OpenCalls },
): void {
  const { bytes, maxBytes, openCalls } = journal;
  if (bytes < maxBytes / 2 || openCalls.heldBytes(accountId) < maxBytes / 4) return;
  throw new Fault("rate_limit_exceeded", {
    message: "This account has too much data in calls that are in flight or not stored yet. " +
      "Wait for some of them to finish.",
    retryAfterSeconds: 5,
  });
}

/** The operations of the journal that relief needs. */
export interface CompactionTarget {
  readonly openCalls: OpenCalls;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly maxBytes: number;
  bytes(): number;
  /** Oldest first. */
  segments(): readonly Segment[];
  mayMove(): boolean;
  /** Adds a record to the newest file. */
  append(record: EncodedRecord): Segment;
  /** Resolves when all appended records are synced. */
  sync(): Promise<void>;
  /** Removes finished files, the oldest first. */
  prune(): void;
  /** Removes a file whose readable records were all moved. */
  quarantine(segment: Segment): Promise<void>;
  /** Runs `act` while no other rewrite runs. */
  inTurn(act: () => Promise<void>): void;
}

/**
 * Keeps a few long calls from holding back everybody's records: files are removed oldest first, and
 * each call holds the file it began in. So relief moves the records of long calls to the newest file.
 */
export class Relief {
  readonly #deps: CompactionTarget;
  #isRunning = false;
  /** Start of the next pass (monotonic ms), after one that freed nothing. */
  #fromMs = 0;

  constructor(target: CompactionTarget) {
    this.#deps = target;
  }

  /** Starts to move records if that pays; otherwise cheap. */
  check(): void {
    if (this.#isRunning || !this.#held()) return;
    this.#isRunning = true;
    this.#deps.inTurn(() => this.#run());
  }

  /**
   * Returns the oldest file if moving its records pays: a full pass writes at most what it frees.
   */
  #held(): Segment | undefined {
    const { openCalls, clock, maxBytes, bytes, segments, mayMove } = this.#deps;
    const [oldest] = segments();
    const isHeld = segments().length > 1 && !oldest?.writing && mayMove() &&
      clock.monotonicMs() >= this.#fromMs &&
      bytes() >= Math.min(maxBytes / 4, maxHeldBytes) && openCalls.bytes <= bytes() / 2;
    return isHeld ? oldest : undefined;
  }

  async #run(): Promise<void> {
    try {
      for (let oldest = this.#held(); oldest; oldest = this.#held()) {
        const isMoved = await moveRecords(oldest, this.#deps);
        if (isMoved && this.#isUnreadable(oldest)) await this.#deps.quarantine(oldest);
        this.#deps.prune();
        if (this.#deps.segments()[0] === oldest) this.#wait();
      }
    } catch {
      // Writes fail; the journal reports it when it next appends a record.
      this.#wait();
    } finally {
      this.#isRunning = false;
    }
  }

  #wait(): void {
    this.#fromMs = this.#deps.clock.monotonicMs() + pauseMs;
  }

  /** Whether some of the file's records can't be read; they may still be in memory. */
  #isUnreadable(segment: Segment): boolean {
    return segment.open === Infinity || this.#deps.openCalls.in(segment).next().done === false;
  }
}

interface Moved {
  id: string;
  openCall: OpenCall;
  /** Its state before the move. */
  before: OpenCall;
}

/**
 * Moves the needed records of the oldest file to the newest. The old file stays until the new one
 * is synced: after a crash in between, records exist twice, which is harmless. Returns whether all
 * readable records were moved.
 */
async function moveRecords(segment: Segment, target: CompactionTarget): Promise<boolean> {
  const moved: Moved[] = [];
  // Keeps the file from being removed.
  segment.open++;
  // No call ends in it behind the reader.
  segment.isSealed = true;
  try {
    const isWhole = await moveEach(segment, target, moved);
    await target.sync();
    if (!moved.some(({ openCall }) => openCall.segment.hasFailed)) return isWhole;
    moveBack(target, moved);
    return false;
  } catch (thrown) {
    moveBack(target, moved);
    throw thrown;
  } finally {
    segment.open--;
  }
}

async function moveEach(
  segment: Segment,
  target: CompactionTarget,
  moved: Moved[],
): Promise<boolean> {
  const bytes = await segment.read();
  const calls = new CallReader();
  const room = createRoom();
  let seen = 0;
  for (const { record, from, to } of scanRecords(bytes)) {
    if (to - seen >= pieceBytes) {
      await new Promise((resolve) => setTimeout(resolve));
      seen = to;
    }
    if (!target.mayMove()) return false;
    const openCall = record && target.openCalls.get(record.id);
    if (!record || openCall?.segment !== segment) continue;
    const isUnderWay = openCall.request !== undefined;
    if (record.kind === "begin") {
      const begun = { length: to - from, pieces: [bytes.subarray(from, to)] };
      if (isUnderWay) move(target, moved, record.id, begun);
      // The end record has no request of its own: it takes this record's.
      else calls.take(record);
    } else if (!isUnderWay) {
      const ended = calls.take(record);
      if (!ended) continue;
      const whole = finish(encodeRecord(recordOf("end", ended), room));
      move(target, moved, record.id, whole).ends++;
    }
  }
  return true;
}

function move(
  target: CompactionTarget,
  moved: Moved[],
  id: string,
  record: EncodedRecord,
): Segment {
  const before = target.openCalls.get(id)!;
  const segment = target.append(record);
  const openCall = { ...before, segment, bytes: record.length };
  target.openCalls.set(id, openCall);
  segment.open++;
  before.segment.open--;
  moved.push({ id, openCall, before });
  return segment;
}

/** The copies may not be on disk: the old file is needed again, except for calls that ended. */
function moveBack(target: CompactionTarget, moved: readonly Moved[]): void {
  for (const { id, openCall, before } of moved) {
    if (target.openCalls.get(id) !== openCall) continue;
    target.openCalls.set(id, before);
    openCall.segment.open--;
    before.segment.open++;
  }
}
