import assert from "@std/assert";
import fs from "node:fs";
import { addQuickLookups } from "./file_lookups.ts";

class SystemError extends Error {
  constructor(readonly errno: number) {
    super(`errno ${errno}`);
  }
}

/** PGlite's operations, and how often they had to ask the runtime for a file's length or mode. */
function createFiles() {
  const asked = { lengths: 0, modes: 0 };
  const files = {
    stream_ops: {
      llseek({ nfd }: { nfd: number }, offset: number, whence: number): number {
        if (whence !== 2) return offset;
        asked.lengths++;
        return fs.fstatSync(nfd).size + offset;
      },
      write: (
        { nfd }: { nfd: number },
        ...[buffer, from, length, position]: [Uint8Array, number, number, number]
      ) => fs.writeSync(nfd, buffer, from, length, position),
    },
    getMode(path: string): number {
      asked.modes++;
      return fs.lstatSync(path).mode;
    },
  };
  addQuickLookups({ NODEFS: files, FS: { ErrnoError: SystemError } });
  return { ...files, asked };
}

const page = new Uint8Array(8192);

Deno.test("the length of a file is known after writes, and right when others have changed it", () => {
  const path = Deno.makeTempFileSync();
  const file = { nfd: fs.openSync(path, "r+") };
  try {
    const { stream_ops: { llseek, write }, asked } = createFiles();
    const length = () => llseek(file, 0, 2);
    assert.equal(length(), 0);
    for (const at of [0, 1, 2]) write(file, page, 0, page.length, at * page.length);
    write(file, page, 0, page.length, 0);
    assert.equal(length(), 3 * page.length);
    assert.deepEqual([asked.lengths, llseek(file, -1, 2)], [0, 3 * page.length - 1]);
    asked.lengths = 0;
    for (const other of [page.length, page.length - 1, page.length + 1, 1, 0, 5]) {
      fs.truncateSync(path, other);
      assert.equal(length(), other);
      assert.equal(length(), other);
    }
    assert.equal(asked.lengths, 6, "each new length is asked for once");
    assert.equal(llseek(file, 7, 0), 7);
  } finally {
    fs.closeSync(file.nfd);
    Deno.removeSync(path);
  }
});

Deno.test("a descriptor that stands for another file now gets that file's length", () => {
  const paths = [Deno.makeTempFileSync(), Deno.makeTempFileSync()];
  paths.forEach((path, at) => fs.writeFileSync(path, page.subarray(0, 100 + at)));
  const { stream_ops: { llseek } } = createFiles();
  const openAndAsk = (path: string) => {
    const nfd = fs.openSync(path, "r");
    assert.equal(llseek({ nfd }, 0, 2), fs.statSync(path).size);
    fs.closeSync(nfd);
    return nfd;
  };
  // Another thread may take the descriptor in between.
  for (let tries = 0; openAndAsk(paths[0]!) !== openAndAsk(paths[1]!); tries++) {
    assert.ok(tries < 100, "the runtime no longer reuses descriptors");
  }
  // Nothing can be read here, so the runtime is asked.
  const nfd = fs.openSync(paths[0]!, "a");
  assert.equal(llseek({ nfd }, 0, 2), 100);
  fs.closeSync(nfd);
  for (const path of paths) Deno.removeSync(path);
});

Deno.test("a file that doesn't exist is refused with its number, without asking for its mode", () => {
  const { getMode, asked } = createFiles();
  const directory = Deno.makeTempDirSync();
  const isMissing = (thrown: unknown) => thrown instanceof SystemError && thrown.errno === 44;
  assert.throws(() => getMode(`${directory}/16384_fsm`), isMissing);
  assert.equal(asked.modes, 0);
  assert.equal(getMode(directory), fs.lstatSync(directory).mode);
  fs.writeFileSync(`${directory}/file`, "");
  assert.throws(() => getMode(`${directory}/file/16384`), /ENOTDIR|ot a directory/, "not missing");
  Deno.removeSync(directory, { recursive: true });
});
