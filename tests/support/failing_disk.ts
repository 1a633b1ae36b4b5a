import { createSegmentFile, type SegmentFile } from "../../src/records/journal/segment_file.ts";

/** Real files on a disk that fails when the test says so. */
export class FailingDisk {
  /** Bytes that can still be written. */
  space = Infinity;
  /** Whether what was written can be brought to the disk, and of which file it can't. */
  syncs = true;
  badFile = "none";
  /** Syncs that wait for it, and their number so far. */
  syncing: Promise<void> | undefined;
  waiting = 0;
  failedSyncs = 0;
  /** Whether a file can be cut back after a write that failed. */
  truncates = true;
  readonly told: string[] = [];

  create = (path: string): SegmentFile => {
    const file = createSegmentFile(path);
    return {
      writeSync: (bytes) => {
        const part = bytes.subarray(0, Math.min(bytes.length, this.space));
        if (part.length === 0) throw new Error("No space left on device (os error 28)");
        const written = file.writeSync(part);
        this.space -= written;
        return written;
      },
      truncateSync: (length) => {
        if (!this.truncates) throw new Error("Input/output error");
        file.truncateSync(length);
      },
      syncData: async () => {
        if (this.syncing) this.waiting++;
        await this.syncing;
        if (this.syncs && !path.endsWith(this.badFile)) return await file.syncData();
        this.failedSyncs++;
        throw new Error("Input/output error (os error 5)");
      },
      readSync: (length) => file.readSync(length),
      close: () => file.close(),
    };
  };
}
