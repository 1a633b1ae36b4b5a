import type { Account, AccountStore, Tier } from "../account.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/** Columns of an account, in the order that `readAccount` knows. */
export const accountColumns = "id, name, tier, requests_per_minute, burst, created_at";

export function createAccounts(database: Database): AccountStore {
  return {
    create: (account, audit) =>
      database.transaction(async (tx) => {
        const made = await insertAccount(tx, account);
        await writeAudit(tx, audit?.(made));
        return made;
      }),
    async find(idOrName) {
      const byId = /^\d{1,18}$/.test(idOrName);
      const [row] = await database.query(
        `select ${accountColumns} from accounts where ${byId ? "id = $1::bigint" : "name = $1"}`,
        [sanitizeText(idOrName)],
      );
      return row && readAccount(row);
    },
    first: () => firstAccount(database),
    async page({ after, limit }) {
      const rows = await database.query(
        `select ${accountColumns} from accounts
         where $1::bigint is null or id > $1::bigint order by id limit $2`,
        [after, limit],
        // A plan for any page reads all accounts before it.
        { forceCustomPlan: true },
      );
      return rows.map((row) => readAccount(row));
    },
    setTier: (...change) => database.transaction((tx) => setTier(tx, ...change)),
  };
}

/** Inserts an account, as part of a transaction. */
export async function insertAccount(
  database: Queryable,
  { name, tier, requestsPerMinute, burst }: Parameters<AccountStore["create"]>[0],
): Promise<Account> {
  const [row] = await database.query(
    `insert into accounts (name, tier, requests_per_minute, burst)
     values ($1, $2, $3, $4) returning ${accountColumns}`,
    [name, tier, requestsPerMinute, burst],
  );
  return readAccount(row!);
}

export async function firstAccount(database: Queryable): Promise<Account | undefined> {
  const [row] = await database.query(
    `select ${accountColumns} from accounts order by id limit 1`,
    [],
  );
  return row && readAccount(row);
}

async function setTier(
  tx: Queryable,
  ...[id, change, audit]: Parameters<AccountStore["setTier"]>
): Promise<Account | undefined> {
  const find = `select ${accountColumns} from accounts where id = $1`;
  // Without the lock, two concurrent changes would each undo the other's.
  const [old] = await tx.query(`${find} for no key update`, [id]);
  if (!old) return undefined;
  const before = readAccount(old);
  const { tier, requestsPerMinute, burst } = change(before);
  await tx.query(
    `with changed as (
           update accounts set tier = $2, requests_per_minute = $3, burst = $4,
             changed_at = clock_timestamp()
           where id = $1 and (tier, requests_per_minute, burst) is distinct from
             ($2::text, $3::bigint, $4::bigint)
           returning id
         )
         update rate_buckets b set fill = true, version = version + 1
         from changed where b.account_id = changed.id`,
    [id, tier, requestsPerMinute, burst],
  );
  const [row] = await tx.query(find, [id]);
  const changed = readAccount(row!);
  await writeAudit(tx, audit?.(before, changed));
  return changed;
}

/** Reads an account from a row whose column names begin with `prefix`. */
export function readAccount(row: SqlRow, prefix = ""): Account {
  return {
    id: Number(row[`${prefix}id`]),
    name: String(row[`${prefix}name`]),
    tier: row[`${prefix}tier`] as Tier,
    requestsPerMinute: Number(row[`${prefix}requests_per_minute`]),
    burst: Number(row[`${prefix}burst`]),
    createdAt: row[`${prefix}created_at`] as Date,
  };
}
