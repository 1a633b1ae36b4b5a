import type { SettledCall } from "../../shared/interaction.ts";
import { CallReader } from "./calls.ts";
import { readSegmentFile, type SegmentContents, writeDurably } from "./files.ts";

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
  /** They are at the end of the file: a crash of the machine cut off a record. */
  isTorn: boolean;
}

const batchSize = 500;

/** Passes the calls in these files to `write`, in batches; the caller removes the files. */
export async function replayFiles(
  paths: readonly string[],
  write: (interactions: readonly SettledCall[]) => Promise<void>,
): Promise<Replayed> {
  const calls = new CallReader();
  const replayed = { ended: 0, interrupted: 0 };
  let batch: SettledCall[] = [];
  const add = async (interaction: SettledCall) => {
    batch.push(interaction);
    if (batch.length >= batchSize) await flush();
  };
  const flush = async () => {
    if (batch.length > 0) await write(batch);
    batch = [];
  };
  for (const path of paths) {
    for (const record of (await readSegmentFile(path)).records) {
      const ended = calls.take(record);
      if (!ended) continue;
      replayed.ended++;
      await add(ended);
    }
  }
  for (const begun of calls.unended()) {
    replayed.interrupted++;
    await add(begun);
  }
  await flush();
  return replayed;
}

/** Removes a replayed file; saves its unreadable bytes beside it. */
export async function removeReplayed(path: string): Promise<Unreadable | undefined> {
  const contents = await readSegmentFile(path);
  const unreadable = await saveUnreadable(path, contents);
  await Deno.remove(path);
  return unreadable;
}

async function saveUnreadable(
  path: string,
  { unreadable, isTorn }: SegmentContents,
): Promise<Unreadable | undefined> {
  if (unreadable.length === 0) return undefined;
  const damagedPath = `${path}.damaged`;
  await writeDurably(damagedPath, unreadable);
  return {
    savedAs: damagedPath.slice(damagedPath.lastIndexOf("/") + 1),
    bytes: unreadable.reduce((sum, { length }) => sum + length, 0),
    isTorn,
  };
}
