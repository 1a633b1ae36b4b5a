import { parseExactly } from "../../base/exact_json.ts";
import type { Tombstone } from "../tombstone.ts";

/**
 * A file of tombstones beside the database, since a database restored from a backup lacks those
 * that are newer than the backup. `DATA_DIR/tombstones` has one JSON text per line; none is ever
 * removed.
 */
export interface TombstoneFile {
  /** Returns the tombstones of the file, oldest first. */
  read(): Promise<Tombstone[]>;
  /** Adds tombstones that the file lacks; resolves when they are on disk. */
  add(tombstones: readonly Tombstone[]): Promise<void>;
}

export function createTombstoneFile(path: string): TombstoneFile {
  let ids: Promise<Set<string>> | undefined;
  const read = async () => {
    const text = await Deno.readTextFile(path).catch((thrown) => {
      if (thrown instanceof Deno.errors.NotFound) return "";
      throw thrown;
    });
    return text.split("\n").flatMap(parseLine);
  };
  return {
    read,
    async add(tombstones) {
      ids ??= read().then((all) => new Set(all.map(({ deletionId }) => deletionId)));
      const there = await ids;
      const missing = tombstones.filter(({ deletionId }) => !there.has(deletionId));
      if (missing.length === 0) return;
      using file = await Deno.open(path, { append: true, create: true, mode: 0o600 });
      // A line break in front of each line too: a crash may have cut off the last one.
      const text = missing.map((one) => `\n${JSON.stringify(one)}\n`).join("");
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      await file.sync();
      for (const { deletionId } of missing) there.add(deletionId);
    },
  };
}

/** Returns nothing for a line that was not completely written. */
function parseLine(line: string): Tombstone[] {
  try {
    const stone = parseExactly(line) as
      & Tombstone
      & Record<"before" | "start" | "end", string | null>;
    const time = (text: string | null) => text === null ? null : new Date(text);
    return [{
      ...stone,
      before: new Date(stone.before!),
      start: time(stone.start),
      end: time(stone.end),
    }];
  } catch {
    return [];
  }
}
