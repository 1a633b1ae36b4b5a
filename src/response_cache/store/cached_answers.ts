import { parseExactly } from "../../base/exact_json.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import type { Database, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { notErased, notGone } from "../../erasure/store/tombstones.ts";
import type { FinishReason } from "../../shared/interaction.ts";
import {
  accountLimits,
  type CachedAnswerStore,
  type StoredCachedAnswer,
} from "../cached_answer.ts";

const sweepRows = 1000;

/** Cached answers on PostgreSQL, served or embedded. Times are the database's own. */
export function createCachedAnswers(database: Database): CachedAnswerStore {
  return {
    async find({ key, ttlSeconds }) {
      const [row] = await database.query(findSql, [key, ttlSeconds]);
      return row && readAnswer(row);
    },
    put: ({ key, ttlSeconds }, call, answer) =>
      database.transaction(async (tx) => {
        // An erasure comes before this, and is seen, or after it, and finds the row.
        await lockForWriting(tx);
        const rows = await tx.query(putSql, [
          ...[call.accountId, call.transactionId, call.createdAt],
          ...[sanitizeText(call.sessionId), sanitizeText(call.userId)],
          ...[key, ttlSeconds, answer.status, sanitizeText(JSON.stringify(answer.headers))],
          ...[answer.body, answer.streamed, answer.record ?? null, answer.vendor],
          ...[sanitizeText(answer.model), answer.finishReason],
          answer.losses.map((path) => sanitizeText(path)),
          answer.body.length + (answer.record?.length ?? 0),
        ]);
        return rows.length > 0;
      }),
    async remove(accountId, transactionId) {
      const rows = await database.query(
        `delete from cached_answers where account_id = $1 and transaction_id = $2 returning key`,
        [accountId, transactionId],
      );
      return rows.length;
    },
    async trim(accountId) {
      const { answers, bytes } = accountLimits;
      return (await database.query(trimSql, [accountId, answers, bytes])).length;
    },
    async sweep() {
      for (let removed = 0;;) {
        const rows = await database.query(sweepSql, [sweepRows]);
        removed += rows.length;
        if (rows.length < sweepRows) return removed;
      }
    },
  };
}

/**
 * Checks for erasures, since processes of the previous version erase calls without knowing this
 * table.
 */
const findSql = `select status, headers, body, streamed, record, vendor, model, finish,
    translation_loss,
    floor(extract(epoch from clock_timestamp() - stored_at))::integer as age_seconds
  from cached_answers r
  where key = $1 and until > clock_timestamp()
    and stored_at > clock_timestamp() - $2::bigint * interval '1 second' and ${notGone}`;

const putSql = `insert into cached_answers (account_id, transaction_id, created_at, session_id,
    user_id, key, stored_at, until, status, headers, body, streamed, record, vendor, model,
    finish, translation_loss, bytes)
  select r.account_id, r.transaction_id, r.created_at, r.session_id, r.user_id, $6::text, now.at,
    now.at + $7::bigint * interval '1 second', $8::integer, $9::text, $10::bytea, $11::boolean,
    $12::bytea, $13::text, $14::text, $15::text, $16::text[], $17::bigint
  from (select $1::bigint as account_id, $2::text as transaction_id, $3::timestamptz as created_at,
      $4::text as session_id, $5::text as user_id) r,
    (select clock_timestamp() as at) now
  where ${notErased}
  on conflict (key) do update set account_id = excluded.account_id,
    transaction_id = excluded.transaction_id, created_at = excluded.created_at,
    session_id = excluded.session_id, user_id = excluded.user_id, stored_at = excluded.stored_at,
    until = excluded.until, status = excluded.status, headers = excluded.headers,
    body = excluded.body, streamed = excluded.streamed, record = excluded.record,
    vendor = excluded.vendor, model = excluded.model, finish = excluded.finish,
    translation_loss = excluded.translation_loss, bytes = excluded.bytes
  returning key`;

/** Answers that another transaction is replacing or deleting are left to it. */
const trimSql = `delete from cached_answers where key = any(array(
    select key from cached_answers where key = any(array(select key from (
      select key, sum(bytes) over newest as bytes_so_far, row_number() over newest as number
      from cached_answers where account_id = $1
      window newest as (order by stored_at desc, key)
    ) ranked where number > $2 or bytes_so_far > $3))
    for update skip locked
  )) returning key`;

/**
 * In small batches, so that nobody waits long for a row, in the order of an index. Not by
 * `clock_timestamp()`, for which all rows would be read.
 */
const sweepSql = `delete from cached_answers where key in (
    select key from cached_answers where until <= now()
    order by until limit $1 for update skip locked
  ) returning key`;

function readAnswer(row: SqlRow): StoredCachedAnswer {
  return {
    status: Number(row.status),
    headers: parseExactly(String(row.headers)) as Record<string, string>,
    body: row.body as Uint8Array,
    streamed: row.streamed === true,
    ...(row.record === null ? {} : { record: row.record as Uint8Array }),
    vendor: String(row.vendor),
    model: String(row.model),
    finishReason: row.finish as FinishReason | null,
    losses: row.translation_loss as string[],
    ageSeconds: Math.max(0, Number(row.age_seconds)),
  };
}
