import { gunzipSync } from "node:zlib";

/**
 * Unpacks a new database's files into a directory, which is created. It takes a tenth of the time of
 * `initdb`, and half the time of loading the image through PGlite. The image is a tar archive from
 * PGlite's `dumpDataDir`: folders and plain files with short names. For the database's own thread,
 * which has nothing else to do: a thousand small files cost twice as much by the event loop.
 */
export function unpackImage(image: URL, directory: string): void {
  const archive = gunzipSync(Deno.readFileSync(image));
  Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const { name, isFolder, mode, content } of entriesOf(archive)) {
    const path = `${directory}/${name}`;
    if (isFolder) Deno.mkdirSync(path, { recursive: true, mode });
    else Deno.writeFileSync(path, content, { createNew: true, mode });
  }
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
