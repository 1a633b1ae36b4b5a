import { shellWord } from "../base/shell_word.ts";
import { embeddedDatabaseIn } from "./data_dir.ts";

/**
 * Returns the id of the user who owns the embedded database in `dataDir`, if files that this
 * process writes there would belong to another one. Makes a file to find out: the process may lack
 * the permission to read its own id, and file systems may map ids. Undefined if no file can be
 * made, and on systems without such ids.
 */
export async function otherOwnerOf(dataDir: string): Promise<number | undefined> {
  const { uid } = await Deno.stat(embeddedDatabaseIn(dataDir));
  const made = await Deno.makeTempFile({ dir: dataDir, prefix: ".owner-" }).catch(() => undefined);
  if (made === undefined) return undefined;
  try {
    const own = (await Deno.stat(made)).uid;
    return uid === null || uid === own ? undefined : uid;
  } finally {
    await Deno.remove(made);
  }
}

/**
 * Says which files below `directory` belong to another user than the directory itself, and how to
 * give them back; undefined if there are none, or they can't be listed.
 */
export async function strayFilesIn(directory: string): Promise<string | undefined> {
  try {
    const { uid } = await Deno.stat(directory);
    const stray = [];
    for await (const path of pathsBelow(directory)) {
      const owner = (await Deno.lstat(path)).uid;
      if (owner !== uid) stray.push(`${path} (user ${owner})`);
    }
    if (stray.length === 0) return undefined;
    const more = stray.length > 1 ? ` and ${stray.length - 1} more` : "";
    return `the directory belongs to user ${uid}, but not ${stray[0]}${more}: ` +
      `run chown -R ${uid} ${shellWord(directory)}`;
  } catch {
    return undefined;
  }
}

async function* pathsBelow(directory: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    yield path;
    if (isDirectory) yield* pathsBelow(path);
  }
}
