import type { Interaction } from "../../shared/interaction.ts";
import { CallReader } from "./calls.ts";
import { damagedNames, readSegmentFile, segmentNames } from "./files.ts";
import { countRejected } from "./rejected.ts";

/** How the journal of a data directory stands. */
export interface JournalStatus {
  /** Whether a server answered; else this is what its files say. */
  running: boolean;
  /** Bytes on the disk that the store may yet need. */
  bytes: number;
  segments: number;
  /** Records of calls that the store has not taken yet; without a server, of calls cut short too. */
  waiting: number;
  /** When the call ended whose record waits the longest. */
  oldest: Date | null;
  sync: "always" | "interval";
  maxBytes: number;
  /** Records that the store has refused, in `rejected.jsonl`. */
  rejected: number;
  /** Bytes that could not be read, in files `*.damaged`. */
  damagedBytes: number;
}

/** What stands beside the journal's own files. */
export async function readAside(
  directory: string,
): Promise<Pick<JournalStatus, "rejected" | "damagedBytes">> {
  const names = await damagedNames(directory).catch(noneIfMissing);
  const sizes = await Promise.all(names.map((name) => sizeOf(`${directory}/${name}`)));
  return {
    rejected: await countRejected(directory),
    damagedBytes: sizes.reduce((sum, size) => sum + size, 0),
  };
}

/** Reads the files of a journal that no process writes to. */
export async function readJournalStatus(
  directory: string,
  options: Pick<JournalStatus, "sync" | "maxBytes">,
): Promise<JournalStatus> {
  const names = await segmentNames(directory).catch(noneIfMissing);
  const calls = new CallReader();
  const status: JournalStatus = {
    running: false,
    bytes: 0,
    segments: names.length,
    waiting: 0,
    oldest: null,
    ...options,
    ...await readAside(directory),
  };
  const count = (interaction: Interaction) => {
    status.waiting++;
    const at = new Date(interaction.createdAt.getTime() + interaction.latencyMs);
    if (status.oldest === null || at < status.oldest) status.oldest = at;
  };
  for (const name of names) {
    const path = `${directory}/${name}`;
    status.bytes += await sizeOf(path);
    for (const record of (await readSegmentFile(path)).records) {
      const ended = calls.take(record);
      if (ended) count(ended);
    }
  }
  for (const begun of calls.unended()) count(begun);
  return status;
}

async function sizeOf(path: string): Promise<number> {
  return (await Deno.stat(path)).size;
}

function noneIfMissing(thrown: unknown): string[] {
  if (thrown instanceof Deno.errors.NotFound) return [];
  throw thrown;
}
