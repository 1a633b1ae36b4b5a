import type { ApiKey } from "../api_key.ts";
import type { AuditNote } from "../../audit/audit.ts";
import type { KeyFilter, KeyRow, KeyService, MadeKey } from "../key_service.ts";
import {
  changeKey,
  insertKey,
  isUsableKey,
  keyColumns,
  keyColumnsOfK,
  readKey,
  revokeKey,
} from "./api_keys.ts";
import { personText } from "../../audit/audit.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import type { AnalyticsReads } from "../../records/analytics_store.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

type LastUses = Pick<AnalyticsReads, "lastUses">;

/** Counts what the key `from` was charged under the caps of `to` too. */
export type CarrySpend = (tx: Queryable, keys: { from: string; to: string }) => Promise<void>;

export function createKeyService(
  database: Database,
  { analytics, carrySpend }: { analytics: LastUses; carrySpend: CarrySpend },
): KeyService {
  return {
    list: (accountId, filter = {}) => read(database, analytics, accountId, filter),
    find: async (accountId, id) => (await read(database, analytics, accountId, { id }))[0],
    offered: (accountId, choice) => readOffered(database, accountId, choice),
    madeBy: (accountId, personIds) => readMadeBy(database, accountId, personIds),
    async names(accountId, ids) {
      const rows = await database.query(
        "select id, name from api_keys where id = any($2::text[]) and account_id = $1",
        [accountId, ids.map(sanitizeText)],
      );
      return new Map(rows.map(({ id, name }) => [String(id), String(name)]));
    },
    create: (key, { environment, madeBy, audit }) =>
      database.transaction(async (tx) => {
        await insertKey(tx, key);
        await note(tx, key.id, { environment, replaces: null, madeBy });
        await writeAudit(tx, audit);
      }),
    change: (accountId, id, change, audit) =>
      database.transaction(async (tx) => {
        const changed = await changeKey(tx, id, change, accountId);
        if (!changed) return false;
        await writeAudit(tx, audit?.(changed.before, changed.after));
        return true;
      }),
    revoke: (accountId, id, audit) =>
      database.transaction(async (tx) => {
        if (!await revokeKey(tx, id, accountId)) return false;
        await writeAudit(tx, audit);
        return true;
      }),
    rotate: (accountId, id, next, { oldEndsAt, now, madeBy, audit }) =>
      database.transaction(async (tx) => {
        const [old] = await tx.query(
          `select ${keyColumns},
             (select environment from api_key_notes where api_key_id = api_keys.id) as environment
           from api_keys where id = $1 and account_id = $2 and revoked_at is null
             and (expires_at is null or expires_at > $3) for update`,
          [id, accountId, now],
        );
        // Read under the lock, when nobody else can be replacing the key.
        const [other] = await tx.query("select 1 from api_key_notes where replaces = $1", [id]);
        if (!old || other) return false;
        const [ended] = await tx.query(
          `update api_keys set expires_at = least(expires_at, $2), changed_at = clock_timestamp()
           where id = $1 returning expires_at`,
          [id, oldEndsAt],
        );
        const made = await insertKey(tx, { ...next(readKey(old)), accountId });
        const environment = String(old.environment ?? "");
        await note(tx, made.id, { environment, replaces: id, madeBy });
        await carrySpend(tx, { from: id, to: made.id });
        await writeAudit(tx, audit?.(made, ended!.expires_at as Date));
        return true;
      }),
  };
}

async function readOffered(
  database: Database,
  accountId: number,
  { isInUse = false, limit }: Parameters<KeyService["offered"]>[1],
) {
  const rows = await database.query(
    `select ${keyColumns} from api_keys
     where account_id = $1 and (not $2::boolean or ${isUsableKey})
     order by id desc limit $3`,
    [accountId, isInUse, limit],
    // A plan for any account sorts all of its keys.
    { forceCustomPlan: true },
  );
  return rows.map(readKey);
}

async function note(tx: Queryable, id: string, { environment, replaces, madeBy = null }: {
  environment: string;
  replaces: string | null;
  madeBy: string | null | undefined;
}): Promise<void> {
  await tx.query(
    `insert into api_key_notes (api_key_id, environment, replaces, made_by)
     values ($1, $2, $3, $4)`,
    [id, environment, replaces, madeBy],
  );
}

/** Revokes the keys that a person made in an account; `audit` notes each. Returns their ids. */
export async function revokeKeysOf(
  tx: Queryable,
  accountId: number,
  personId: string,
  audit: (key: Pick<ApiKey, "name" | "prefix">) => AuditNote,
): Promise<string[]> {
  const rows = await tx.query(
    `update api_keys k set revoked_at = clock_timestamp(), changed_at = clock_timestamp()
     from api_key_notes n
     where n.api_key_id = k.id and n.made_by = $2 and k.account_id = $1 and k.revoked_at is null
     returning k.id, k.name, k.prefix`,
    [accountId, personId],
  );
  for (const { name, prefix } of rows) {
    await writeAudit(tx, audit({ name: String(name), prefix: String(prefix) }));
  }
  return rows.map(({ id }) => String(id));
}

/** Without what only the page on keys shows: a person may have made thousands. */
async function readMadeBy(
  database: Queryable,
  accountId: number,
  personIds: readonly string[],
): Promise<MadeKey[]> {
  const rows = await database.query(
    `select n.made_by, k.name, k.prefix, k.scopes
     from api_key_notes n join api_keys k on k.id = n.api_key_id
     where n.made_by = any($2::text[]) and k.account_id = $1 and ${isUsableKey}
     order by k.id desc`,
    [accountId, personIds],
    { forceCustomPlan: true },
  );
  return rows.map((row) => ({
    personId: String(row.made_by),
    name: String(row.name),
    prefix: String(row.prefix),
    scopes: row.scopes as string[],
  }));
}

function readMaker({ made_by: id, maker_email: email, maker_name: name }: SqlRow) {
  const person = { id: String(id), email: email as string | null, name: String(name) };
  return { id: person.id, name: name === null ? null : personText(person) };
}

async function read(
  database: Queryable,
  analytics: LastUses,
  accountId: number,
  { id, limit, after, search, isCapped, isInUse }: KeyFilter & { id?: string },
): Promise<KeyRow[]> {
  // The rows are chosen first, so that a page's notes are looked up, not those of all keys.
  const rows = await database.query(
    `select ${keyColumnsOfK},
       n.environment, n.replaces, n.made_by, p.email as maker_email, p.name as maker_name,
       exists (select 1 from api_key_notes o where o.replaces = k.id) as is_replaced
     from (
       select * from api_keys
       where account_id = $1 and ($2::text is null or id = $2::text)
         and ($3::text is null or id < $3::text)
         and ($4::text is null or strpos(lower(name), lower($4::text)) > 0
           or starts_with(prefix, left($4::text, length(prefix))))
         and (not $5::boolean
           or revoked_at is null and (cap_day_nanos is not null or cap_month_nanos is not null))
         and (not $6::boolean or ${isUsableKey})
       order by id desc limit $7::int
     ) k left join api_key_notes n on n.api_key_id = k.id
       left join people p on p.id = n.made_by
     order by k.id desc`,
    [
      ...[accountId, id ?? null, sanitizeText(after?.id ?? null), sanitizeText(search ?? null)],
      ...[isCapped ?? false, isInUse ?? false, limit ?? null],
    ],
    { forceCustomPlan: true },
  );
  const used = await analytics.lastUses(accountId, rows.map((row) => String(row.id)));
  return rows.map((row) => ({
    ...readKey(row),
    environment: String(row.environment ?? ""),
    replaces: row.replaces as string | null,
    madeBy: row.made_by === null ? null : readMaker(row),
    isReplaced: row.is_replaced === true,
    lastUsedAt: used.get(String(row.id)) ?? null,
  }));
}
