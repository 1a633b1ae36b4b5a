import type { Tombstone } from "../tombstone.ts";

/**
 * Tombstones beside the database: a database that is restored from a backup has lost those that
 * came after it. One JSON text a line, in `DATA_DIR/tombstones`; nothing is ever taken out.
 */
export interface TombstoneFile {
  /** What it holds, oldest first. */
  read(): Promise<Tombstone[]>;
  /** Adds those that it lacks; resolves when they are on the disk. */
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
      // In front of each line too: the last one may have been cut by a crash.
      const text = missing.map((one) => `\n${JSON.stringify(one)}\n`).join("");
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      await file.sync();
      for (const { deletionId } of missing) there.add(deletionId);
    },
  };
}

/** Nothing for a line that was not written whole. */
function parseLine(line: string): Tombstone[] {
  try {
    const stone = JSON.parse(line) as Tombstone & Record<"before" | "start" | "end", string | null>;
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
