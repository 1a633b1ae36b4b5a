import fs from "node:fs";
import { dirname } from "node:path";

/** An open file in PGlite's file system; folders have no descriptor. */
export interface OpenFile {
  readonly nfd?: number;
  readonly node: unknown;
}

/** PGlite's file system on the runtime's files, which is Emscripten's. */
interface NodeFiles {
  readonly stream_ops: {
    llseek: (file: OpenFile, offset: number, whence: number) => number;
    write: (file: OpenFile, ...from: [Uint8Array, number, number, number]) => number;
  };
  getMode: (path: string) => number;
}

interface FileModule {
  readonly NODEFS: NodeFiles;
  readonly FS: { readonly ErrnoError: new (errno: number) => Error };
}

const seekEnd = 2;
/** The WebAssembly system's number of ENOENT, "no such file or directory". */
const noEntry = 44;

/**
 * Makes two frequent questions of PostgreSQL cheap: how long a file is, which the planner asks for
 * each index, and whether a table has a file of free space, asked for each new page. The runtime's
 * `fstatSync` takes 30 µs, and 80 µs go into the error for a file that doesn't exist.
 */
export function addQuickLookups(module: object): void {
  const { NODEFS: files, FS: { ErrnoError } } = module as FileModule;
  const lengths = new FileLengths();
  const { getMode, stream_ops: operations } = files;
  const { llseek, write } = operations;
  const seek: typeof llseek = (file, offset, whence) => {
    const { nfd } = file;
    if (whence !== seekEnd || offset !== 0 || nfd === undefined) {
      return llseek(file, offset, whence);
    }
    return lengths.find(nfd) ?? lengths.note(nfd, llseek(file, offset, whence));
  };
  const writeAt: typeof write = (file, buffer, from, length, position) => {
    const written = write(file, buffer, from, length, position);
    lengths.extend(file.nfd!, position + written);
    return written;
  };
  const existingMode = (path: string) => {
    // Whatever else fails must not look like a missing file: PGlite empties a file that it creates.
    if (!fs.existsSync(path) && fs.existsSync(`${dirname(path)}/.`)) throw new ErrnoError(noEntry);
    return getMode(path);
  };
  operations.llseek = seek;
  operations.write = writeAt;
  files.getMode = existingMode;
}

/** Presumed lengths of open files by descriptor. None is believed unless a read confirms it. */
class FileLengths {
  readonly #presumed = new Map<number, number>();
  readonly #read = new Uint8Array(2);

  /** Returns the file's length if it is the presumed one: a read across it finds its last byte. */
  find(descriptor: number): number | undefined {
    const length = this.#presumed.get(descriptor) ?? 0;
    const from = Math.max(0, length - 1);
    try {
      const found = fs.readSync(descriptor, this.#read, 0, 2, from);
      return from + found === length ? length : undefined;
    } catch {
      // It may be open for writing only.
      return undefined;
    }
  }

  note(descriptor: number, length: number): number {
    this.#presumed.set(descriptor, length);
    return length;
  }

  extend(descriptor: number, length: number): void {
    if (length > (this.#presumed.get(descriptor) ?? 0)) this.#presumed.set(descriptor, length);
  }
}
