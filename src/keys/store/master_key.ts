import { systemClock } from "../../base/clock.ts";
import { randomBase62 } from "../../base/ids.ts";
import { Secret } from "../../base/secret.ts";
import { messageOf } from "../../shared/fault.ts";
import { MasterKey } from "../sealing.ts";
import type { Database } from "../../database/database.ts";
import {
  adoptMasterKey,
  claimMasterKey,
  readClaim,
  wrongMasterKeyText,
} from "./master_key_claim.ts";

/** The master key of this process: `MASTER_KEY`, or the one that `DATA_DIR` keeps. */
export interface MasterKeySource {
  readonly source: "environment" | "file";
  current(): MasterKey;
  /** Called before a rotation commits: puts the new key where a start after a crash finds it. */
  prepare(next: MasterKey): Promise<void>;
  /** Called after a rotation: uses the new key from now on, and stores it where the old one was. */
  adopt(next: MasterKey): Promise<void>;
  /**
   * Uses the key with this fingerprint, if another process that shares the directory has put it
   * there.
   */
  reread(claimed: string): Promise<void>;
}

export interface MasterKeyDeps {
  /** `MASTER_KEY`. */
  configured: Secret | undefined;
  dataDir: string;
  database: Database;
}

/**
 * Opens the master key at the start of a server. Without `MASTER_KEY` one is made once, in
 * `DATA_DIR/master.key`. A `MASTER_KEY` claims the database at once; a key that was made here
 * claims it with the first vendor key that it seals, so that processes without stored keys need not
 * share one. Throws an Error of one line that names MASTER_KEY and says what to do when the
 * database's vendor keys are sealed under another one.
 */
export async function openMasterKey(deps: MasterKeyDeps): Promise<MasterKeySource> {
  const { configured, dataDir, database } = deps;
  const claimed = (await readClaim(database))?.fingerprint;
  const source = await sourceOf(deps, claimed);
  if (!source) {
    if (claimed !== undefined) throw new Error(wrongMasterKeyText("missing"));
    const made = MasterKey.generate();
    await writeKeyFile(`${dataDir}/${fileName}`, made);
    return new FileKeySource(dataDir, made);
  }
  if (configured && claimed === undefined) {
    await database.transaction((tx) => claimMasterKey(tx, source));
  } else if (claimed !== undefined && claimed !== source.current().fingerprint) {
    const fromFile = configured && await readKeyFile(`${dataDir}/${fileName}`);
    throw new Error(
      wrongMasterKeyText(fromFile?.fingerprint === claimed ? "inFile" : source.source),
    );
  }
  if (source.source === "file") await removeLeftovers(dataDir);
  return source;
}

/** What a rotation that was killed has left; one that runs beside this start is younger. */
async function removeLeftovers(dataDir: string): Promise<void> {
  const before = systemClock.now().getTime() - leftoverMs;
  for await (const { name } of Deno.readDir(dataDir)) {
    if (!leftoverName.test(name)) continue;
    const path = `${dataDir}/${name}`;
    // Another worker that starts may have removed it.
    const { mtime } = await Deno.stat(path).catch(() => ({ mtime: null }));
    if (mtime !== null && mtime.getTime() < before) await Deno.remove(path).catch(() => {});
  }
}

/** Far longer than a rotation takes. */
const leftoverMs = 60 * 60 * 1000;

/**
 * Finds the master key for a command that runs beside the servers. Never makes one, as the servers
 * would not have it. Doesn't check that it is the database's; sealing with it does. Throws an Error
 * of one line when there is none.
 */
export async function findMasterKey(deps: MasterKeyDeps): Promise<MasterKeySource> {
  const claimed = (await readClaim(deps.database))?.fingerprint;
  const source = await sourceOf(deps, claimed);
  if (source) return source;
  throw new Error(
    `MASTER_KEY is missing, and DATA_DIR=${deps.dataDir} keeps none: run this with the MASTER_KEY or the DATA_DIR of the servers.`,
  );
}

const fileName = "master.key";
/** The file that a rotation is about to put in the place of `fileName`. */
const nextName = "master.key.next";
/** That file, and what `writeKeyFile` renames; an operator's copy may be master.key.20261130. */
const leftoverName = /^master\.key(?:\.next|(?:\.next)?\.temporary-[0-9A-Za-z]{8})$/;

async function sourceOf(
  { configured, dataDir, database }: MasterKeyDeps,
  claimed: string | undefined,
): Promise<MasterKeySource | undefined> {
  if (configured) return environmentKeys(new MasterKey(configured));
  const fromFile = await readKeyFile(`${dataDir}/${fileName}`);
  if (fromFile && (claimed === undefined || claimed === fromFile.fingerprint)) {
    return new FileKeySource(dataDir, fromFile);
  }
  // A rotation that was interrupted between its commit and the change of the file is finished here.
  const next = await readKeyFile(`${dataDir}/${nextName}`);
  if (next && next.fingerprint === claimed) {
    const source = new FileKeySource(dataDir, next);
    await adoptMasterKey(database, source, next);
    return source;
  }
  return fromFile && new FileKeySource(dataDir, fromFile);
}

/** The environment can't be changed from inside: the operator sets the new key there. */
function environmentKeys(configured: MasterKey): MasterKeySource {
  let key = configured;
  return {
    source: "environment",
    current: () => key,
    prepare: () => Promise.resolve(),
    adopt(next) {
      key = next;
      return Promise.resolve();
    },
    reread: () => Promise.resolve(),
  };
}

class FileKeySource implements MasterKeySource {
  readonly source = "file";
  #key: MasterKey;

  constructor(readonly dataDir: string, key: MasterKey) {
    this.#key = key;
  }

  current(): MasterKey {
    return this.#key;
  }

  async prepare(next: MasterKey): Promise<void> {
    const path = `${this.dataDir}/${nextName}`;
    // A rotation that was killed after its commit may have left the key in use there alone.
    const { fingerprint } = this.#key;
    if ((await readKeyFile(path))?.fingerprint === fingerprint) {
      await writeKeyFile(`${this.dataDir}/${fileName}`, this.#key);
    }
    await writeKeyFile(path, next);
  }

  async adopt(next: MasterKey): Promise<void> {
    this.#key = next;
    await writeKeyFile(`${this.dataDir}/${fileName}`, next);
    await Deno.remove(`${this.dataDir}/${nextName}`).catch(() => {});
  }

  async reread(claimed: string): Promise<void> {
    // A rotation that has committed has its key in the first, or else in the second, already.
    for (const name of [nextName, fileName]) {
      const key = await readKeyFile(`${this.dataDir}/${name}`);
      if (key?.fingerprint !== claimed) continue;
      this.#key = key;
      return;
    }
  }
}

/**
 * Reads a key from a file; undefined when there is no such file. Throws an Error of one line when
 * it can't be read or holds no key.
 */
async function readKeyFile(path: string): Promise<MasterKey | undefined> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return undefined;
    throw new Error(
      `MASTER_KEY is not set and ${path} can't be read (${
        messageOf(thrown)
      }): let this user read it, or set MASTER_KEY.`,
    );
  }
  try {
    return new MasterKey(new Secret(text.trim()));
  } catch (thrown) {
    throw new Error(
      `MASTER_KEY is not set and ${path} is damaged (${
        messageOf(thrown)
      }): put it back from a backup, or set MASTER_KEY.`,
    );
  }
}

/**
 * Writes the file whole or not at all, and to the disk before it is relied on: without it stored
 * keys are lost.
 */
async function writeKeyFile(path: string, key: MasterKey): Promise<void> {
  const temporary = `${path}.temporary-${randomBase62(8)}`;
  try {
    const file = await Deno.open(temporary, { createNew: true, write: true, mode: 0o600 });
    try {
      await file.write(new TextEncoder().encode(key.text().reveal() + "\n"));
      await file.sync();
    } finally {
      file.close();
    }
    await Deno.rename(temporary, path);
    await syncFolder(path.slice(0, path.lastIndexOf("/")));
  } catch (thrown) {
    await Deno.remove(temporary).catch(() => {});
    throw new Error(`The master key can't be kept in ${path} (${messageOf(thrown)}).`);
  }
}

/** Syncs a directory, where the system can; the file itself is there either way. */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await Deno.open(path);
    await folder.sync().finally(() => folder.close());
  } catch {
    // Only a loss of power at this moment could still lose the file.
  }
}
