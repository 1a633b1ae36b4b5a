import type { Interaction } from "../../shared/interaction.ts";
import { CallReader } from "./calls.ts";
import { damagedNames, readSegmentFile, segmentNames } from "./files.ts";
import { countRejected } from "./rejected.ts";

/** The state of the journal of a data directory. */
export interface JournalStatus {
  /** Whether a server answered; otherwise the files were read. */
  running: boolean;
  /** Size of the files on disk. */
  bytes: number;
  segments: number;
  /**
   * Records that are not in the store yet. Without a server all in the files, those of interrupted
   * calls too: the files don't say which of them are stored.
   */
  waiting: number;
  /** End time of the call whose record has waited longest. */
  oldest: Date | null;
  sync: "always" | "interval";
  maxBytes: number;
  /** Records in `rejected.jsonl`, which the store has rejected. */
  rejected: number;
  /** Unreadable bytes, in files `*.damaged`. */
  damagedBytes: number;
}

/** Adds up the states of a program's journals; there is at least one. */
export function sumOfJournals(all: readonly JournalStatus[]): JournalStatus {
  return all.reduce((sum, { oldest, ...each }) => ({
    ...sum,
    running: sum.running || each.running,
    bytes: sum.bytes + each.bytes,
    segments: sum.segments + each.segments,
    waiting: sum.waiting + each.waiting,
    oldest: sum.oldest === null || (oldest !== null && oldest < sum.oldest) ? oldest : sum.oldest,
    maxBytes: sum.maxBytes + each.maxBytes,
    rejected: sum.rejected + each.rejected,
    damagedBytes: sum.damagedBytes + each.damagedBytes,
  }));
}

/** Reads a state that another process has sent as JSON. */
export function journalStatusFromJson(sent: unknown): JournalStatus {
  const status = sent as Omit<JournalStatus, "oldest"> & { oldest: string | null };
  return { ...status, oldest: status.oldest === null ? null : new Date(status.oldest) };
}

/** Reads the files beside the journal's own. */
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
