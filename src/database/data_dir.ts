/** This process's claim on a data directory. */
export interface DataDirClaim {
  /** Records the owner's address for other processes. */
  describe(owner: { address: string }): Promise<void>;
  release(): Promise<void>;
}

/** The owner of a data directory, as other processes read it. */
interface Owner {
  pid: number;
  address?: string;
}

/**
 * Claims a data directory for this process; creates it if missing. The operating system holds the
 * lock, so that a killed process leaves none. Throws an Error of one line that names the owner and
 * says what to do.
 */
export async function claimDataDir(path: string): Promise<DataDirClaim> {
  const file = await openLock(path);
  if (!await file.tryLock(true)) {
    file.close();
    throw new Error(await heldBy(path));
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

async function openLock(path: string): Promise<Deno.FsFile> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    return await Deno.open(`${path}/owner.lock`, { create: true, write: true, mode: 0o600 });
  } catch (thrown) {
    throw unusable(path, thrown);
  }
}

function unusable(path: string, thrown: unknown): Error {
  const reason = thrown instanceof Error ? thrown.message.split("\n")[0]! : String(thrown);
  return new Error(
    `DATA_DIR=${path} can't be used (${reason}): set DATA_DIR to a directory that this user can write.`,
  );
}

async function heldBy(path: string): Promise<string> {
  const owner = await readOwner(path);
  const who = owner
    ? `process ${owner.pid}${owner.address ? ` (${owner.address})` : ""}`
    : "another process";
  return `DATA_DIR=${path} is held by ${who}: stop it, or set DATA_DIR to another directory.`;
}

/** The owner's address; undefined if there is no owner, or it has no address yet. */
export async function addressOfOwner(path: string): Promise<string | undefined> {
  return (await readOwner(path))?.address;
}

/** Undefined if the file is missing or incomplete. */
async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    const owner = JSON.parse(await Deno.readTextFile(`${path}/owner.json`)) as Owner;
    return Number.isInteger(owner.pid) ? owner : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The id under which this process holds leases: created once per `DATA_DIR`, so that a restart finds
 * its leases. The caller must have claimed the directory.
 */
export async function readProcessId(dataDir: string, newId: () => string): Promise<string> {
  const path = `${dataDir}/process-id`;
  const existing = await Deno.readTextFile(path).then((text) => text.trim(), () => "");
  if (/^[\w-]{8,64}$/.test(existing)) return existing;
  const made = newId();
  const fresh = `${path}.new`;
  await Deno.writeTextFile(fresh, `${made}\n`, { mode: 0o600 });
  await Deno.rename(fresh, path);
  return made;
}
