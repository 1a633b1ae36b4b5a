import type { SettledCall } from "../../shared/interaction.ts";
import { CallReader } from "./calls.ts";
import { readSegment } from "./files.ts";
import type { Segment } from "./segment.ts";

/** Where the records lie that are nowhere but in the journal. */
export class Spilled {
  /** The oldest of them: all ends behind it are. */
  #from: { segment: Segment; end: number } | undefined;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The end that was appended last. */
  add(segment: Segment): void {
    segment.spilled++;
    this.#count++;
    this.#from ??= { segment, end: segment.ends - 1 };
  }

  /** Reads the oldest file's: as they ended, and how many ends are missing there. */
  async read(): Promise<SpilledFile | undefined> {
    if (!this.#from) return undefined;
    const { segment, end: from } = this.#from;
    const { ends: to, spilled: due } = segment;
    const { records } = readSegment(await segment.read());
    const calls = new CallReader();
    const ended = records.flatMap((record) => calls.take(record) ?? []);
    const isWhole = ended.length >= to;
    const rows = ended.slice(isWhole ? from : 0, to);
    return { segment, to, due, rows, missing: isWhole ? 0 : to - ended.length };
  }

  /** They are not here alone any more. */
  remove({ segment, due, to }: SpilledFile, segments: readonly Segment[]): void {
    segment.spilled -= due;
    this.#count -= due;
    this.#from = this.#next(segment, to, segments);
  }

  #next(segment: Segment, end: number, segments: readonly Segment[]) {
    if (this.#count === 0) return undefined;
    if (segment.spilled > 0) return { segment, end };
    const next = segments.slice(segments.indexOf(segment) + 1).find(({ spilled }) => spilled > 0);
    return next && { segment: next, end: 0 };
  }
}

interface SpilledFile {
  segment: Segment;
  /** Ends in it when it was read. */
  to: number;
  due: number;
  rows: SettledCall[];
  missing: number;
}
