import { chunksOf } from "../../base/lists.ts";
import type { Secret } from "../../base/secret.ts";
import { messageOf } from "../../shared/fault.ts";
import { type MasterKey, type SealedFor, UnsealError } from "../sealing.ts";
import {
  lastFourOf,
  type Rotation,
  type StoredVendorKey,
  type VendorKeyRead,
  type VendorKeyState,
  type VendorKeyStore,
} from "../vendor_key.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { pageByAccount } from "../../database/page_by_account.ts";
import type { MasterKeySource } from "./master_key.ts";
import {
  adoptMasterKey,
  claimMasterKey,
  hasMasterKey,
  lockVendorKeys,
  readClaim,
  wrongMasterKeyText,
} from "./master_key_claim.ts";

const shown = "account_id, vendor, last_four, created_at, changed_at";

/**
 * Reseals, in the rotation, everything else that is sealed under the master key; returns how many
 * values that were.
 */
export type ResealOthers = (
  tx: Queryable,
  reseal: (sealed: string, slot: SealedFor) => { sealed: string; keyVersion: bigint },
) => Promise<number>;

/** `masterKey` is called only to seal or open something: listing and removing need none. */
export function createVendorKeys(
  database: Database,
  masterKey: () => Promise<MasterKeySource>,
  resealOthers: ResealOthers = () => Promise.resolve(0),
): VendorKeyStore {
  return {
    async set(accountId, vendor, value, audit) {
      const masterKeys = await masterKey();
      return await database.transaction(async (tx) => {
        const stored = await insert(tx, masterKeys, accountId, vendor, value);
        await writeAudit(tx, audit?.(stored));
        return stored;
      });
    },
    remove: (accountId, vendor, audit) =>
      database.transaction(async (tx) => {
        const rows = await tx.query(
          `update vendor_keys set sealed = null, key_version = null, last_four = '',
             revision = revision + 1, changed_at = clock_timestamp()
           where account_id = $1 and vendor = $2 and sealed is not null returning vendor`,
          [accountId, vendor],
        );
        if (rows.length === 0) return false;
        await writeAudit(tx, audit);
        return true;
      }),
    async list(...asked) {
      const select = `select ${shown} from vendor_keys where sealed is not null`;
      return (await pageByAccount(database, { select, name: "vendor" }, ...asked)).map(readShown);
    },
    changedSince: async (since) => readChanges(database, await masterKey(), since),
    rotate: async (next, audit) =>
      await rotate(database, await masterKey(), next, { resealOthers, audit }),
  };
}

async function insert(
  tx: Queryable,
  masterKeys: MasterKeySource,
  accountId: number,
  vendor: string,
  value: Secret,
): Promise<StoredVendorKey> {
  const { key, keyVersion } = await claimMasterKey(tx, masterKeys);
  const sealed = key.seal(value, { accountId, vendor, keyVersion });
  const [row] = await tx.query(
    `insert into vendor_keys (account_id, vendor, sealed, key_version, last_four)
     values ($1, $2, $3, $4, $5)
     on conflict (account_id, vendor) do update set sealed = excluded.sealed,
       key_version = excluded.key_version, last_four = excluded.last_four,
       revision = vendor_keys.revision + 1, changed_at = clock_timestamp(),
       created_at = case when vendor_keys.sealed is null then clock_timestamp()
         else vendor_keys.created_at end
     returning ${shown}`,
    [accountId, vendor, sealed, keyVersion, lastFourOf(value)],
  );
  return readShown(row!);
}

async function readChanges(
  database: Queryable,
  masterKeys: MasterKeySource,
  since: Date | null,
): Promise<VendorKeyRead> {
  const rows = await database.query(
    `select n.now, m.fingerprint, v.account_id, v.vendor, v.revision, v.sealed, v.key_version
     from (select clock_timestamp() as now) n
     left join master_key m on true
     left join vendor_keys v on v.changed_at >= coalesce($1::timestamptz, '-infinity')`,
    [since],
  );
  const { now, fingerprint } = rows[0] as { now: Date; fingerprint: string | null };
  const masterKeyMatches = fingerprint === null || await hasMasterKey(masterKeys, fingerprint);
  return {
    now,
    masterKeyMatches,
    changes: rows.filter((row) => row.vendor !== null).map((row) => ({
      accountId: Number(row.account_id),
      vendor: String(row.vendor),
      revision: row.revision as bigint,
      state: open(masterKeys.current(), row),
    })),
  };
}

function open(key: MasterKey, row: SqlRow): VendorKeyState {
  if (row.sealed === null) return { kind: "removed" };
  try {
    return { kind: "stored", key: unseal(key, row) };
  } catch (thrown) {
    if (!(thrown instanceof UnsealError)) throw thrown;
    return { kind: "unreadable", reason: thrown.message };
  }
}

function unseal(key: MasterKey, row: SqlRow): Secret {
  return key.unseal(String(row.sealed), {
    accountId: Number(row.account_id),
    vendor: String(row.vendor),
    keyVersion: row.key_version as bigint,
  });
}

async function rotate(
  database: Database,
  masterKeys: MasterKeySource,
  next: MasterKey,
  { resealOthers, audit }: {
    resealOthers: ResealOthers;
    audit: Parameters<VendorKeyStore["rotate"]>[1];
  },
): Promise<Rotation> {
  const done = await database.transaction(async (tx) => {
    await lockVendorKeys(tx);
    const claim = await readClaim(tx);
    if (claim?.fingerprint === next.fingerprint) return { resealed: 0, already: true };
    const rows = await tx.query(
      "select account_id, vendor, sealed, key_version from vendor_keys where sealed is not null",
    );
    // With nothing sealed the old key isn't needed, so an operator who has lost it can still
    // rotate.
    const isCurrentKey = claim === undefined ||
      await hasMasterKey(masterKeys, claim.fingerprint);
    const checkCurrent = () => {
      if (!isCurrentKey) throw new Error(wrongMasterKeyText(masterKeys.source));
    };
    if (rows.length > 0) checkCurrent();
    const version = (claim?.version ?? 0n) + 1n;
    const resealed = rows.map((row) => reseal(row, masterKeys.current(), next, version));
    for (const chunk of chunksOf(resealed, chunkRows)) {
      await tx.query(updateSealed, [JSON.stringify(chunk), version]);
    }
    const others = await resealOthers(tx, (sealed, slot) => {
      checkCurrent();
      const value = masterKeys.current().unseal(sealed, slot);
      return { sealed: next.seal(value, { ...slot, keyVersion: version }), keyVersion: version };
    });
    await tx.query(
      `insert into master_key (id, version, fingerprint) values (1, $1, $2)
       on conflict (id) do update set version = excluded.version,
         fingerprint = excluded.fingerprint, changed_at = clock_timestamp()`,
      [version, next.fingerprint],
    );
    await writeAudit(tx, audit?.(rows.length + others));
    await masterKeys.prepare(next);
    return { resealed: rows.length + others, already: false };
  });
  await adoptMasterKey(database, masterKeys, next);
  return { ...done, source: masterKeys.source };
}

const chunkRows = 1000;

/** The values themselves don't change, so revision and time of change stay. */
const updateSealed = `update vendor_keys v set sealed = r.sealed, key_version = $2
  from json_to_recordset($1::text::json) as r(account_id bigint, vendor text, sealed text)
  where v.account_id = r.account_id and v.vendor = r.vendor`;

function reseal(row: SqlRow, from: MasterKey, to: MasterKey, keyVersion: bigint) {
  const slot = { accountId: Number(row.account_id), vendor: String(row.vendor), keyVersion };
  try {
    const sealed = to.seal(unseal(from, row), slot);
    return { account_id: slot.accountId, vendor: slot.vendor, sealed };
  } catch (thrown) {
    throw new Error(
      `The key of ${slot.vendor} stored for account ${slot.accountId} can't be opened (${
        messageOf(thrown)
      }), so nothing was changed: store it again or remove it.`,
    );
  }
}

function readShown(row: SqlRow): StoredVendorKey {
  return {
    accountId: Number(row.account_id),
    vendor: String(row.vendor),
    lastFour: String(row.last_four),
    createdAt: row.created_at as Date,
    changedAt: row.changed_at as Date,
  };
}
