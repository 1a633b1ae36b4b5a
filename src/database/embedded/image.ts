import { gunzipSync } from "node:zlib";

/**
 * Unpacks a new database's files into a directory, which is created. It takes a tenth of the time
 * of `initdb`, and half the time of loading the image through PGlite. The image is a tar archive
 * from PGlite's `dumpDataDir`: folders and plain files with short names. Synchronous, for the
 * database's own thread, which has nothing else to do: with asynchronous calls a thousand small
 * files take nearly twice as long. All of it is synced, as by `initdb`: PostgreSQL syncs only what
 * it writes itself.
 */
export function unpackImage(image: URL, directory: string): void {
  const archive = gunzipSync(Deno.readFileSync(image));
  Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
  const folders = [directory];
  for (const { name, isFolder, mode, content } of entriesOf(archive)) {
    const path = `${directory}/${name}`;
    if (isFolder) {
      Deno.mkdirSync(path, { recursive: true, mode });
      folders.push(path);
    } else {
      writeSynced(path, content, mode);
    }
  }
  // The entries of folders too: a file without its entry is lost.
  for (const folder of folders) syncFolder(folder);
}

/** Syncs the entries of a folder: the names of its files. */
export function syncFolder(path: string): void {
  using folder = Deno.openSync(path);
  folder.syncSync();
}

function writeSynced(path: string, content: Uint8Array, mode: number): void {
  using file = Deno.openSync(path, { write: true, createNew: true, mode });
  for (let at = 0; at < content.length;) at += file.writeSync(content.subarray(at));
  file.syncSync();
}

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly mode: number;
  readonly content: Uint8Array;
}

/** POSIX.1-1988 ustar: a header of one block, then the content, padded to whole blocks. */
const block = 512;

function* entriesOf(archive: Uint8Array): Generator<Entry> {
  for (let at = 0; at + block <= archive.length;) {
    const field = (from: number, length: number) => textAt(archive, at + from, length);
    const name = field(0, 100).replace(/^\/+/, "");
    // Two blocks of zeros end the archive.
    if (name === "") return;
    const size = Number.parseInt(field(124, 12), 8);
    const type = field(156, 1);
    if (!["0", "", "5"].includes(type) || field(345, 155) !== "" || name.includes("..")) {
      throw new Error(`the image of a new database has an entry of an unknown kind (${name})`);
    }
    const start = at + block;
    yield {
      name,
      isFolder: type === "5",
      mode: Number.parseInt(field(100, 8), 8),
      content: archive.subarray(start, start + size),
    };
    at = start + Math.ceil(size / block) * block;
  }
}

function textAt(bytes: Uint8Array, from: number, length: number): string {
  const text = new TextDecoder().decode(bytes.subarray(from, from + length));
  return text.split("\0")[0]!.trim();
}
