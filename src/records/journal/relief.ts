import type { Clock } from "../../base/clock.ts";
import { Fault } from "../../shared/fault.ts";
import { CallReader, recordOf } from "./calls.ts";
import { encodeRecord, scanRecords } from "./records.ts";
import type { Segment } from "./segment.ts";
import type { OpenCall, OpenCalls } from "./state.ts";

/** A quarter of a large journal is more than a start wants to read. */
const mostHeldBytes = 256 * 1024 * 1024;
const pauseMs = 1000;
/** So much is read of a file before others have their turn. */
const pieceBytes = 512 * 1024;

/** Throws where a call's account already fills the journal by calls that don't end. */
export function refuseCrowding(
  accountId: number,
  journal: { bytes: number; maxBytes: number; openCalls: OpenCalls },
): void {
  const { bytes, maxBytes, openCalls } = journal;
  if (bytes < maxBytes / 2 || openCalls.underWayBytes(accountId) < maxBytes / 4) return;
  throw new Fault("rate_limit_exceeded", {
    message: "This account has too much under way: let some of its calls end first.",
    retryAfterSeconds: 5,
  });
}

/** What relief takes of the journal. */
export interface CompactionTarget {
  readonly openCalls: OpenCalls;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly maxBytes: number;
  bytes(): number;
  /** Oldest first. */
  segments(): readonly Segment[];
  mayMove(): boolean;
  /** Adds a record to the newest file. */
  append(record: Uint8Array): Segment;
  /** Resolves when all that was appended is on the disk. */
  sync(): Promise<void>;
  /** Removes what nobody needs, from the oldest file on. */
  prune(): void;
  /** Removes a file of which all that can be read was moved. */
  putAside(segment: Segment): Promise<void>;
  /** Runs `act` when nobody else rewrites files. */
  inTurn(act: () => Promise<void>): void;
}

/**
 * Keeps a few calls that take long from holding everybody's records: files go from the oldest on,
 * and each call holds the one it began in.
 */
export class Relief {
  readonly #deps: CompactionTarget;
  #isRunning = false;
  /** After a pass in vain the next one waits. */
  #fromMs = 0;

  constructor(target: CompactionTarget) {
    this.#deps = target;
  }

  /** Begins to move records if that is worth it; soon done where it is not. */
  look(): void {
    if (this.#isRunning || !this.#held()) return;
    this.#isRunning = true;
    this.#deps.inTurn(() => this.#run());
  }

  /** The oldest file. A round through all files writes at most what it frees. */
  #held(): Segment | undefined {
    const { openCalls, clock, maxBytes, bytes, segments, mayMove } = this.#deps;
    const isHeld = segments().length > 1 && mayMove() && clock.monotonicMs() >= this.#fromMs &&
      bytes() >= Math.min(maxBytes / 4, mostHeldBytes) && openCalls.bytes <= bytes() / 2;
    return isHeld ? segments()[0] : undefined;
  }

  async #run(): Promise<void> {
    try {
      for (let oldest = this.#held(); oldest; oldest = this.#held()) {
        const isMoved = await moveRecords(oldest, this.#deps);
        if (isMoved && this.#isUnreadable(oldest)) await this.#deps.putAside(oldest);
        this.#deps.prune();
        if (this.#deps.segments()[0] === oldest) this.#wait();
      }
    } catch {
      // The disk takes nothing: who appends records says so.
      this.#wait();
    } finally {
      this.#isRunning = false;
    }
  }

  #wait(): void {
    this.#fromMs = this.#deps.clock.monotonicMs() + pauseMs;
  }

  /** Something of it is missing, and is in memory if at all. */
  #isUnreadable(segment: Segment): boolean {
    return segment.open === Infinity || this.#deps.openCalls.in(segment).next().done === false;
  }
}

interface Moved {
  id: string;
  openCall: OpenCall;
  /** How it stood before. */
  before: OpenCall;
}

/**
 * Moves what is needed of the oldest file to the newest. The old file stays until the new one is on
 * the disk: who starts after a crash in between finds a record twice, which is as good as once.
 * True: all that could be read was moved.
 */
async function moveRecords(segment: Segment, target: CompactionTarget): Promise<boolean> {
  const moved: Moved[] = [];
  // It must not go meanwhile.
  segment.open++;
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
      if (isUnderWay) move(target, moved, record.id, bytes.subarray(from, to));
      // Its end leaves to it what the caller sent.
      else calls.take(record);
    } else if (!isUnderWay) {
      const ended = calls.take(record);
      const newest = ended && move(target, moved, record.id, encodeRecord(recordOf("end", ended)));
      if (newest) newest.ends++;
    }
  }
  return true;
}

function move(target: CompactionTarget, moved: Moved[], id: string, bytes: Uint8Array): Segment {
  const before = target.openCalls.get(id)!;
  const segment = target.append(bytes);
  const openCall = { ...before, segment, bytes: bytes.length };
  target.openCalls.set(id, openCall);
  segment.open++;
  before.segment.open--;
  moved.push({ id, openCall, before });
  return segment;
}

/** The disk may lack the copies: the old file is needed as before, but for calls that ended. */
function moveBack(target: CompactionTarget, moved: readonly Moved[]): void {
  for (const { id, openCall, before } of moved) {
    if (target.openCalls.get(id) !== openCall) continue;
    target.openCalls.set(id, before);
    openCall.segment.open--;
    before.segment.open++;
  }
}
