import type { KeyDesk, KeyRow } from "../domain/key_desk.ts";
import { insertKey, keyColumns, readKey } from "./api_keys.ts";
import { writeAudit } from "./audit.ts";
import type { Database, Queryable } from "./database.ts";

/** `analytics` is where calls are recorded. */
export function createKeyDesk(database: Database, analytics: Queryable): KeyDesk {
  return {
    list: (accountId) => read(database, analytics, accountId, null),
    find: async (accountId, id) => (await read(database, analytics, accountId, id))[0],
    create: (key, { environment, audit }) =>
      database.transaction(async (tx) => {
        await insertKey(tx, key);
        await note(tx, key.id, environment, null);
        await writeAudit(tx, audit);
      }),
    revoke: (accountId, id, audit) =>
      database.transaction(async (tx) => {
        const rows = await tx.query(
          `update api_keys set revoked_at = clock_timestamp(), changed_at = clock_timestamp()
           where id = $1 and account_id = $2 and revoked_at is null returning id`,
          [id, accountId],
        );
        if (rows.length === 0) return false;
        await writeAudit(tx, audit);
        return true;
      }),
    rotate: (accountId, id, next, { oldEndsAt, now, audit }) =>
      database.transaction(async (tx) => {
        const rows = await tx.query(
          `update api_keys set expires_at = least(expires_at, $3), changed_at = clock_timestamp()
           where id = $1 and account_id = $2 and revoked_at is null
             and (expires_at is null or expires_at > $4)
             and not exists (select 1 from api_key_notes n where n.replaces = api_keys.id)
           returning id`,
          [id, accountId, oldEndsAt, now],
        );
        if (rows.length === 0) return false;
        await insertKey(tx, { ...next, accountId });
        const [old] = await tx.query(
          "select environment from api_key_notes where api_key_id = $1",
          [id],
        );
        await note(tx, next.id, String(old?.environment ?? ""), id);
        await writeAudit(tx, audit);
        return true;
      }),
  };
}

async function note(
  tx: Queryable,
  id: string,
  environment: string,
  replaces: string | null,
): Promise<void> {
  await tx.query(
    "insert into api_key_notes (api_key_id, environment, replaces) values ($1, $2, $3)",
    [id, environment, replaces],
  );
}

async function read(
  database: Queryable,
  analytics: Queryable,
  accountId: number,
  id: string | null,
): Promise<KeyRow[]> {
  const rows = await database.query(
    `select ${keyColumns.split(", ").map((one) => `k.${one}`).join(", ")},
       n.environment, n.replaces,
       exists (select 1 from api_key_notes o where o.replaces = k.id) as is_replaced
     from api_keys k left join api_key_notes n on n.api_key_id = k.id
     where k.account_id = $1 and ($2::text is null or k.id = $2::text)
     order by k.created_at desc, k.id desc`,
    [accountId, id],
  );
  const used = await lastUses(analytics, accountId, rows.map((row) => String(row.id)));
  return rows.map((row) => ({
    ...readKey(row),
    environment: String(row.environment ?? ""),
    replaces: row.replaces as string | null,
    isReplaced: row.is_replaced === true,
    lastUsedAt: used.get(String(row.id)) ?? null,
  }));
}

/** One step down the index for each key, however many calls it made. */
async function lastUses(
  analytics: Queryable,
  accountId: number,
  ids: readonly string[],
): Promise<Map<string, Date>> {
  if (ids.length === 0) return new Map();
  const rows = await analytics.query(
    `select k.id, i.created_at from unnest($2::text[]) as k(id)
     cross join lateral (
       select created_at from interactions
       where account_id = $1 and api_key_id = k.id order by created_at desc limit 1
     ) i`,
    [accountId, ids],
  );
  return new Map(rows.map((row) => [String(row.id), row.created_at as Date]));
}
