import type { SettledCall } from "../../shared/interaction.ts";
import { CallReader } from "./calls.ts";
import { createFile, readSegmentFile, writeAll } from "./files.ts";

/** Number of calls that a replay found. */
export interface Replayed {
  ended: number;
  interrupted: number;
}

/** Bytes of a journal file that could not be read. */
export interface Unreadable {
  /** Name of the file that they were saved in. */
  savedAs: string;
  bytes: number;
  /** The bytes are at the end of the file: a crash, or a kill, cut off a record. */
  isTorn: boolean;
}

const batchSize = 500;

/** Stores replayed calls; false: one of them is neither in the store nor saved elsewhere. */
export type WriteReplayed = (interactions: readonly SettledCall[]) => Promise<boolean | void>;

/**
 * Passes the calls in these files to `write`, in batches. The caller removes the first `done`
 * files. The next file holds a call that is stored nowhere else; the files after it stay too, since
 * they say how that file's other calls ended.
 */
export async function replayFiles(
  paths: readonly string[],
  write: WriteReplayed,
): Promise<{ replayed: Replayed; done: number }> {
  const calls = new CallReader();
  const replayed = { ended: 0, interrupted: 0 };
  let done = paths.length;
  let batch: SettledCall[] = [];
  const add = async (interaction: SettledCall, at: number) => {
    batch.push(interaction);
    if (batch.length >= batchSize) await flush(at);
  };
  const flush = async (at: number) => {
    if (batch.length > 0 && await write(batch) === false) done = Math.min(done, at);
    batch = [];
  };
  for (const [at, path] of paths.entries()) {
    for (const record of (await readSegmentFile(path)).records) {
      const ended = calls.take(record);
      if (!ended) continue;
      replayed.ended++;
      await add(ended, at);
    }
    await flush(at);
  }
  for (const begun of calls.unended()) {
    replayed.interrupted++;
    // Any of the files may hold its begin record.
    await add(begun, 0);
  }
  await flush(0);
  return { replayed, done };
}

/** Removes a replayed file; saves its unreadable bytes beside it. */
export async function removeReplayed(path: string): Promise<Unreadable | undefined> {
  const { unreadable, isTorn } = await readSegmentFile(path);
  const damagedPath = `${path}.damaged`;
  if (unreadable.length > 0) {
    using file = await createFile(damagedPath);
    for (const piece of unreadable) await writeAll(file, piece);
    await file.sync();
  }
  await Deno.remove(path);
  return unreadable.length === 0 ? undefined : {
    savedAs: damagedPath.slice(damagedPath.lastIndexOf("/") + 1),
    bytes: unreadable.reduce((sum, { length }) => sum + length, 0),
    isTorn,
  };
}
