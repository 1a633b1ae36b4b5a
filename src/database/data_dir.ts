import { parseExactly } from "../base/exact_json.ts";
import { shellWord } from "../base/shell_word.ts";
import { syncFolder } from "./embedded/image.ts";
import { isNoSpace } from "./full_disk.ts";

export interface DataDirClaim {
  /** Records the owner's address for other processes. */
  describe(owner: { address: string }): Promise<void>;
  release(): Promise<void>;
}

interface Owner {
  pid: number;
  address?: string;
}

const pollMs = 50;
/** How long a lock without a named owner may last: its owner has released it, or just taken it. */
const namelessMs = 1_000;

/**
 * Claims a data directory for this process; creates it if missing. The operating system holds the
 * lock, so that a killed process leaves none behind. A program that the owner is starting holds it
 * too, for the milliseconds until it runs, and so does a probe, so this waits a moment. Throws an
 * Error of one line that names the owner and says what to do.
 */
export async function claimDataDir(
  path: string,
  wayOut = "stop it, or set DATA_DIR to another directory",
): Promise<DataDirClaim> {
  const file = await openLock(path);
  for (let waitedMs = 0; !await file.tryLock(true); waitedMs += pollMs) {
    const owner = await readOwner(path);
    if (owner && waitedMs > 0 || waitedMs >= namelessMs) {
      file.close();
      throw new Error(`DATA_DIR=${path} is held by ${nameOf(owner)}: ${wayOut}.`);
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  const ownerPath = `${path}/owner.json`;
  const write = (owner: Owner) => Deno.writeTextFile(ownerPath, JSON.stringify(owner) + "\n");
  try {
    await write({ pid: Deno.pid });
  } catch (thrown) {
    file.close();
    throw unusable(path, thrown);
  }
  return {
    describe: ({ address }) => write({ pid: Deno.pid, address }),
    async release() {
      await Deno.remove(ownerPath).catch(() => {});
      file.close();
    },
  };
}

/** Throws an Error of one line if this user may not look. */
export async function hasDatabase(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(embeddedDatabaseIn(path))).isDirectory;
  } catch (thrown) {
    if (thrown instanceof Deno.errors.PermissionDenied) throw unusable(path, thrown);
    return false;
  }
}

export function embeddedDatabaseIn(path: string): string {
  return `${path}/database`;
}

/** Notes that PostgreSQL is about to have a copy of the embedded database, and continues from it. */
export async function noteCopy(path: string, at: Date): Promise<void> {
  const note = copyNoteIn(path);
  // Whole or not at all: a full disk would leave an empty file.
  const written = `${note}.new`;
  try {
    await Deno.writeTextFile(written, `${at.toISOString()}\n`, { mode: 0o600 });
    // PostgreSQL's commit outlasts a loss of power, and so must this.
    using file = await Deno.open(written, { write: true });
    await file.sync();
    await Deno.rename(written, note);
    syncFolder(embeddedDatabaseIn(path));
  } catch (thrown) {
    await Deno.remove(written).catch(() => {});
    throw unusable(path, thrown);
  }
}

/**
 * Throws an Error of one line if the embedded database was copied to PostgreSQL: it would spend the
 * same credit a second time.
 */
export async function refuseCopied(path: string): Promise<void> {
  const at = await readCopyNote(path);
  if (at === undefined) return;
  const note = shellWord(copyNoteIn(path));
  const wayOut = `set DATABASE_URL; or, to return to what was copied, remove ${note}`;
  throw new Error(
    `DATABASE_URL is missing: the embedded database in DATA_DIR=${path} was copied to PostgreSQL (${at}), which has its credit now: ${wayOut}. If \`database copy\` didn't report its end, repeat it first.`,
  );
}

/** When the embedded database was last copied. Throws an Error of one line if that can't be read. */
export async function readCopyNote(path: string): Promise<string | undefined> {
  try {
    return (await Deno.readTextFile(copyNoteIn(path))).trim();
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return undefined;
    throw unusable(path, thrown);
  }
}

/** In the database's directory, since it is about these files: it is moved and removed with them. */
function copyNoteIn(path: string): string {
  return `${embeddedDatabaseIn(path)}/copied-to-postgres`;
}

/** How long a process whose parent was killed may take to end its calls. */
const leavingMs = 40_000;

/**
 * Claims what a server writes only for itself (journal, tombstones, process id), in `DATA_DIR` or
 * below it, until `close`. A worker whose parent was killed may still hold it while it ends, so
 * this waits for it. Throws an Error of one line if that takes longer.
 */
export async function claimProcessDir(path: string, waitMs = leavingMs): Promise<Deno.FsFile> {
  const file = await openLock(path, "process.lock");
  for (let waitedMs = 0; !await file.tryLock(true); waitedMs += pollMs) {
    if (waitedMs >= waitMs) {
      file.close();
      throw new Error(`${path} is held by a worker of an earlier start: wait until it has ended.`);
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return file;
}

/** The directories of workers other than the first, by their number. */
export async function workerDirs(dataDir: string): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  try {
    for await (const { name } of Deno.readDir(`${dataDir}/workers`)) {
      if (/^[1-9]\d{0,3}$/.test(name)) found.set(Number(name), `${dataDir}/workers/${name}`);
    }
  } catch (thrown) {
    if (!(thrown instanceof Deno.errors.NotFound)) throw thrown;
  }
  return new Map([...found].sort(([a], [b]) => a - b));
}

/**
 * Returns the directory of worker `index`: the first one has `DATA_DIR` itself, like a process
 * without workers.
 */
export function workerDir(dataDir: string, index: number): string {
  return index === 1 ? dataDir : `${dataDir}/workers/${index}`;
}

async function openLock(path: string, name = "owner.lock"): Promise<Deno.FsFile> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    return await Deno.open(`${path}/${name}`, { create: true, write: true, mode: 0o600 });
  } catch (thrown) {
    throw unusable(path, thrown);
  }
}

function unusable(path: string, thrown: unknown): Error {
  const isForbidden = thrown instanceof Deno.errors.NotCapable;
  // Deno's own message is about its flags, which nobody here has set.
  const reason = isForbidden
    ? "this program may not write there"
    : thrown instanceof Error
    ? thrown.message.split("\n")[0]!
    : String(thrown);
  const wayOut = isNoSpace(thrown)
    ? "its disk is full (df -h, df -i): make room there and start again"
    : isForbidden && path.includes(",")
    ? "set DATA_DIR to a path without commas"
    : isForbidden
    ? "set DATA_DIR to a directory that is not the program's own and not below /dev, /proc or /sys, where Deno writes nothing"
    : "set DATA_DIR to a directory that this user can write, or run this as the user who owns it";
  return new Error(`DATA_DIR=${path} can't be used (${reason}): ${wayOut}.`);
}

function nameOf(owner: Owner | undefined): string {
  if (owner === undefined) return "another process";
  return `process ${owner.pid}${owner.address ? ` (${owner.address})` : ""}`;
}

/**
 * Returns the owner's address; undefined if there is no owner, or it has no address yet. A killed
 * process leaves its note behind, and a copied directory has that of its original. Throws an Error
 * of one line if this user may not look.
 */
export async function addressOfOwner(path: string): Promise<string | undefined> {
  return await isHeld(path) ? (await readOwner(path))?.address : undefined;
}

async function isHeld(path: string): Promise<boolean> {
  try {
    using file = await Deno.open(`${path}/owner.lock`);
    return !await file.tryLock(false);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.PermissionDenied) throw unusable(path, thrown);
    return false;
  }
}

/** Undefined if the file is missing or incomplete. */
async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    const owner = parseExactly(await Deno.readTextFile(`${path}/owner.json`)) as Owner;
    return Number.isInteger(owner.pid) ? owner : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the id under which this process holds leases: created once per `DATA_DIR`, so that a
 * restart finds its leases. A copied file counts as none, since the process that it was copied from
 * may be running: its leases would be given back while it spends them. `onCopy` is called for it.
 * The caller must have claimed the directory.
 */
export async function readProcessId(
  dataDir: string,
  newId: () => string,
  onCopy?: () => void,
): Promise<string> {
  const path = `${dataDir}/process-id`;
  const written = await Deno.readTextFile(path).then((text) => text.trim(), () => "");
  // Earlier versions wrote no inode.
  const [, id, inode] = /^([\w-]{8,64})(?: (\d+))?$/.exec(written) ?? [];
  const isCopied = inode !== undefined && inode !== await inodeOf(path);
  if (id !== undefined && !isCopied) return id;
  if (isCopied) onCopy?.();
  const made = newId();
  const fresh = `${path}.new`;
  await Deno.writeTextFile(fresh, "", { mode: 0o600 });
  await Deno.writeTextFile(fresh, `${made} ${await inodeOf(fresh)}\n`);
  await Deno.rename(fresh, path);
  return made;
}

/** Without the device, whose number may be another one after a restart of the machine. */
async function inodeOf(path: string): Promise<string> {
  return String((await Deno.stat(path)).ino ?? 0);
}
