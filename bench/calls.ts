import { createHash } from "node:crypto";
import type { Database } from "../src/database/database.ts";

export type FilledDatabase = Pick<Database, "query" | "kind">;

export const total = 1_000_000;
export const day = 24 * 60 * 60 * 1000;
/** Calls are spread over the 90 days before this, the end of today, so that today is a full day. */
export const end = (Math.floor(Date.now() / day) + 1) * day;
const span = 90 * day;
/** Milliseconds between two of a million calls. */
export const step = span / total;

export function timeOf(n: number, rows = total, until = end): number {
  return until - span + Math.floor(n * span / rows);
}

/** Returns the id that `fill` gives the n-th call. */
export function idOf(n: number, rows = total, until = end): string {
  const digest = createHash("md5").update(String(n)).digest("hex");
  return `${timeOf(n, rows, until).toString(16).padStart(12, "0")}-${digest}`;
}

/** Inserts calls of two accounts, by default a million, over the 90 days before `until`. */
export async function fill(
  database: FilledDatabase,
  rows = total,
  until = end,
): Promise<void> {
  for (let at = until - span; at <= until; at += day) {
    await database.query("select open_month($1)", [new Date(at)]);
  }
  const portion = 100_000;
  for (let from = 0; from < rows; from += portion) {
    const last = Math.min(rows, from + portion) - 1;
    await database.query(fillSql, [from, last, new Date(until - span), span / rows]);
  }
  // A database server does so by itself sooner or later; the embedded one never does.
  if (database.kind === "postgres") await database.query("analyze", []);
}

const fillSql = `insert into interactions (transaction_id, created_at, request_id, session_id,
    user_id, account_id, api_key_id, app, flow, cohort_id, endpoint, dialect, vendor, model,
    requested_model, mode, stream, status, http_status, finish_reason, input_tokens, output_tokens,
    total_tokens, cost_nanos, charged_nanos, billing_basis, usage_raw, translation_loss, latency_ms,
    payload_truncated)
  select lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '-' || md5(n::text), at,
    'request ' || n, case when n % 333 = 1 then 'session long' when n % 3 = 0 then 'session ' || n / 20 end,
    case when n % 10 = 0 then 'everybody' when n % 2 = 0 then 'user ' || h % 100000 end,
    case when n % 20 = 19 then 2 else 1 end,
    case when n % 100003 = 0 then 'key rare' else 'key ' || h % 8 end,
    case when n % 100003 = 1 then 'app rare' else 'app ' || h % 12 end,
    case when n % 4 = 1 then 'flow ' || h % 9 end,
    case when n % 5 = 0 then 'cohort ' || h % 50 end, '/chat/v1/chat/completions', 'chat',
    case when n % 100003 = 4 then 'vendor-z'
      else 'vendor-' || substr('abcdefg', (1 + h % 20 % 7)::int, 1) end,
    case when n % 100003 = 2 then 'model rare' else 'model ' || h % 20 end,
    'model', case when n % 100003 = 5 then 'dual_key' else 'managed' end, n % 2 = 0,
    case when n % 500 = 7 then 'failed' when n % 2000 = 3 then 'truncated'
      when n % 2000 = 4 then 'cancelled' else 'completed' end,
    200, 'stop', h % 5000, h % 700, h % 5700, h % 10000000, 0, 'reported',
    '{"prompt_tokens": 100, "completion_tokens": 200, "total_tokens": 300}', '{}',
    h % 31000, false
  from generate_series($1::int, $2::int) as n,
    lateral (select $3::timestamptz + floor(n * $4::float8) * interval '1 millisecond' as at,
      abs(hashint4(n)::bigint) as h) as made`;
