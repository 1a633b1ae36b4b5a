import type { Secret } from "../../base/secret.ts";
import { Fault } from "../../shared/fault.ts";
import type { MasterKey, SealedFor } from "../sealing.ts";
import type { MasterKeySource } from "./master_key.ts";
import type { Database, Queryable } from "../../database/database.ts";

/**
 * Returns which master key the database's vendor keys are sealed under; undefined while none has
 * claimed the database.
 */
export async function readClaim(database: Queryable) {
  const [row] = await database.query<{ version: bigint; fingerprint: string }>(
    "select version, fingerprint from master_key",
  );
  return row;
}

/**
 * Returns the database's master key for the rest of the transaction, claiming the database for the
 * process's own where none has. Throws a fault of one line if the process has another one.
 */
export async function claimMasterKey(
  tx: Queryable,
  keys: MasterKeySource,
): Promise<{ key: MasterKey; keyVersion: bigint }> {
  await lockVendorKeys(tx);
  const claim = await readClaim(tx);
  if (!claim) {
    const key = keys.current();
    await tx.query("insert into master_key (id, version, fingerprint) values (1, 1, $1)", [
      key.fingerprint,
    ]);
    return { key, keyVersion: 1n };
  }
  const { fingerprint, version } = claim;
  if (!await hasMasterKey(keys, fingerprint)) {
    throw new Fault("internal_error", {
      message:
        "Nothing was stored: this process has another MASTER_KEY than the one that stored secrets are encrypted with. The operator has to set that one and restart the process.",
      note: wrongMasterKeyText(keys.source),
    });
  }
  return { key: keys.current(), keyVersion: version };
}

/** Whether the process has the database's key, which another process may just have rotated. */
export async function hasMasterKey(keys: MasterKeySource, claimed: string): Promise<boolean> {
  if (claimed !== keys.current().fingerprint) await keys.reread(claimed);
  return claimed === keys.current().fingerprint;
}

/** Seals and opens values of any subject under the current master key. */
export function createSealer(masterKey: () => Promise<MasterKeySource>) {
  return {
    /** To be called before the transaction that stores the value. Throws an error of one line. */
    async open() {
      const keys = await masterKey();
      return async (tx: Queryable, value: Secret, slot: Omit<SealedFor, "keyVersion">) => {
        const { key, keyVersion } = await claimMasterKey(tx, keys);
        return { sealed: key.seal(value, { ...slot, keyVersion }), keyVersion };
      };
    },
    /** Throws `UnsealError`. */
    async unseal(sealed: string, slot: SealedFor): Promise<Secret> {
      return (await masterKey()).current().unseal(sealed, slot);
    },
  };
}

/**
 * Ends a rotation that has committed: stores its key where the old one was, unless a later rotation
 * has changed the database's key since.
 */
export async function adoptMasterKey(
  database: Database,
  keys: MasterKeySource,
  next: MasterKey,
): Promise<void> {
  await database.transaction(async (tx) => {
    await lockVendorKeys(tx);
    const claim = await readClaim(tx);
    if (claim?.fingerprint === next.fingerprint) await keys.adopt(next);
  });
}

/** Lets one transaction at a time seal or rotate, which are rare. Held to its end. */
export async function lockVendorKeys(tx: Queryable): Promise<void> {
  await tx.query("select pg_advisory_xact_lock($1)", [vendorKeyLock]);
}

/** `open_month` in the migrations locks the same number, so one may wait for the other: no harm. */
const vendorKeyLock = 7_305_112_604_912;

/**
 * Says what is wrong with this process's master key, and what the operator can do. `inFile`: the
 * environment has another one, but `DATA_DIR/master.key` is the right one.
 */
export function wrongMasterKeyText(what: "missing" | "environment" | "file" | "inFile"): string {
  return `${wrongs[what]}: ${
    what === "inFile"
      ? "leave MASTER_KEY out, give it to 'admin master-key rotate', and set it then."
      : "set MASTER_KEY to the one that the other processes have or that the last 'admin master-key rotate' was given; if it is lost, remove what it encrypts ('admin vendor-key list' and 'remove', 'admin webhook list' and 'remove'), set MASTER_KEY to a new one and give it to 'admin master-key rotate'."
  }`;
}

const wrongs = {
  missing: "MASTER_KEY is missing and DATA_DIR keeps none, but this database was set up with one",
  environment: "MASTER_KEY is not the master key that this database's vendor keys are sealed under",
  file:
    "MASTER_KEY is not set, and DATA_DIR/master.key is not the master key that this database's vendor keys are sealed under",
  inFile:
    "MASTER_KEY is not the master key that this database's vendor keys are sealed under, but DATA_DIR/master.key is",
} as const;
