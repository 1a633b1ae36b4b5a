import type {
  ApiKey,
  ApiKeyChange,
  ApiKeyStore,
  NewApiKey,
  OnDisconnect,
  Principal,
  TranslationMode,
} from "../api_key.ts";
import { readKeyDefaults, refuseUncapped, writeKeyDefaults } from "../key_defaults.ts";
import { readAccount } from "./accounts.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

export const keyColumns =
  "id, account_id, name, prefix, scopes, models, on_disconnect, translation_mode, prompt_cache, cache_ttl_seconds, recording, defaults, cap_day_nanos, cap_month_nanos, created_at, expires_at, revoked_at";

export function createApiKeys(database: Database): ApiKeyStore {
  return {
    insert: (key, audit) =>
      database.transaction(async (tx) => {
        const inserted = await insertKey(tx, key);
        await writeAudit(tx, audit);
        return inserted;
      }),
    findByHash: (hash) => findPrincipal(database, "hash", hash),
    findById: (id) => findPrincipal(database, "id", id),
    async named(name, limit) {
      const rows = await database.query(
        `select ${keyColumns} from api_keys
         where name = $1 and revoked_at is null order by id limit $2`,
        [sanitizeText(name), limit],
      );
      return rows.map(readKey);
    },
    async page(accountId, { after, limit }) {
      const rows = await database.query(
        `select ${keyColumns} from api_keys
         where ($1::bigint is null or account_id = $1::bigint)
           and ($2::text is null or id > $2::text)
         order by id limit $3`,
        [accountId, after, limit],
        // A plan for any account and page reads all keys.
        { forceCustomPlan: true },
      );
      return rows.map(readKey);
    },
    change: (id, change, audit) =>
      database.transaction(async (tx) => {
        const changed = await changeKey(tx, id, change);
        if (changed) await writeAudit(tx, audit?.(changed.before, changed.after));
        return changed?.after;
      }),
    revoke: (id, audit) =>
      database.transaction(async (tx) => {
        const revoked = await revokeKey(tx, id);
        if (revoked) await writeAudit(tx, audit?.(revoked));
        return revoked !== undefined;
      }),
  };
}

/** Changes a key; with an account, only a key of that account that isn't revoked. */
export async function changeKey(
  tx: Queryable,
  id: string,
  change: ApiKeyChange,
  accountId: number | null = null,
): Promise<{ before: ApiKey; after: ApiKey } | undefined> {
  const { name, capDayNanos, capMonthNanos } = change;
  const [old] = await tx.query(
    `select ${keyColumns} from api_keys
     where id = $1 and ($2::bigint is null or account_id = $2 and revoked_at is null) for update`,
    [id, accountId],
  );
  if (!old) return undefined;
  const [row] = await tx.query(
    `update api_keys set name = coalesce($2::text, name),
       cap_day_nanos = case when $3 then $4::bigint else cap_day_nanos end,
       cap_month_nanos = case when $5 then $6::bigint else cap_month_nanos end,
       changed_at = clock_timestamp()
     where id = $1 returning ${keyColumns}`,
    [
      id,
      sanitizeText(name ?? null),
      capDayNanos !== undefined,
      capDayNanos ?? null,
      capMonthNanos !== undefined,
      capMonthNanos ?? null,
    ],
  );
  const after = readKey(row!);
  refuseUncapped(after, change);
  return { before: readKey(old), after };
}

/**
 * Revokes a key; with an account, only a key of that account. Undefined where there is none to
 * revoke.
 */
export async function revokeKey(
  tx: Queryable,
  id: string,
  accountId: number | null = null,
): Promise<ApiKey | undefined> {
  const [row] = await tx.query(
    `update api_keys set revoked_at = clock_timestamp(), changed_at = clock_timestamp()
     where id = $1 and revoked_at is null and ($2::bigint is null or account_id = $2)
     returning ${keyColumns}`,
    [id, accountId],
  );
  return row && readKey(row);
}

export const isUsableKey =
  "revoked_at is null and (expires_at is null or expires_at > clock_timestamp())";

export async function usableHashes(database: Queryable): Promise<string[]> {
  const rows = await database.query(
    `select hash from api_keys where ${isUsableKey}`,
    [],
  );
  return rows.map(({ hash }) => String(hash));
}

async function findPrincipal(
  database: Queryable,
  column: "hash" | "id",
  value: string,
): Promise<Principal | undefined> {
  const [row] = await database.query(
    `select ${principalColumns}
     from api_keys k join accounts a on a.id = k.account_id where k.${column} = $1`,
    [value],
  );
  return row && readPrincipal(row);
}

/** `keyColumns` of `api_keys k`. */
export const keyColumnsOfK = keyColumns.split(", ").map((one) => `k.${one}`).join(", ");

/** Of `api_keys k` and its `accounts a`. */
export const principalColumns = `${keyColumnsOfK},
  a.name as account_name, a.tier as account_tier,
  a.requests_per_minute as account_requests_per_minute,
  a.burst as account_burst, a.created_at as account_created_at`;

export function readPrincipal(row: SqlRow): Principal {
  return { key: readKey(row), account: readAccount(row, "account_") };
}

/** Inserts a key; also used inside the transaction that makes the first account. */
export async function insertKey(database: Queryable, key: NewApiKey): Promise<ApiKey> {
  const [row] = await database.query(
    `insert into api_keys (id, account_id, name, prefix, hash, scopes, models, on_disconnect,
       translation_mode, prompt_cache, cap_day_nanos, cap_month_nanos, expires_at, cache_ttl_seconds,
       recording, defaults)
     values ($1, $2, $3, $4, $5, $6::text[], $7::text[], $8, $9, $10, $11, $12, $13,
       $14, $15, $16)
     returning ${keyColumns}`,
    [
      key.id,
      key.accountId,
      key.name,
      key.prefix,
      key.hash,
      key.scopes,
      key.models,
      key.onDisconnect,
      key.translationMode,
      key.promptCache ?? true,
      key.capDayNanos,
      key.capMonthNanos,
      key.expiresAt,
      key.cacheTtlSeconds ?? null,
      key.recording ?? "full",
      writeKeyDefaults(key.defaults),
    ],
  );
  return readKey(row!);
}

export function readKey(row: SqlRow): ApiKey {
  const defaults = readKeyDefaults(row.defaults as string | null);
  return {
    id: String(row.id),
    accountId: Number(row.account_id),
    name: String(row.name),
    prefix: String(row.prefix),
    scopes: row.scopes as string[],
    models: row.models as string[],
    onDisconnect: row.on_disconnect as OnDisconnect,
    translationMode: row.translation_mode as TranslationMode,
    promptCache: row.prompt_cache as boolean,
    ...(row.cache_ttl_seconds === null ? {} : { cacheTtlSeconds: Number(row.cache_ttl_seconds) }),
    ...(row.recording === "metadata" ? { recording: "metadata" } : {}),
    ...(defaults ? { defaults } : {}),
    capDayNanos: row.cap_day_nanos as bigint | null,
    capMonthNanos: row.cap_month_nanos as bigint | null,
    createdAt: row.created_at as Date,
    expiresAt: row.expires_at as Date | null,
    revokedAt: row.revoked_at as Date | null,
  };
}
