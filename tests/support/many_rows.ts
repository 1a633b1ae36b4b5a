import type { Queryable } from "../../src/database/database.ts";

/**
 * Writes so many calls of one account, as a busy one makes them: from the beginning of 2026 on, one
 * every 0.3 seconds, about 1.5 KB each, with sessions, users, tags, and payloads with quotes, line
 * breaks and Unicode.
 */
export async function writeManyRows(
  database: Queryable,
  accountId: number,
  count: number,
): Promise<void> {
  const portion = 20_000;
  await database.query("select open_month('2026-01-01T00:00:00Z'::timestamptz)");
  for (let from = 0; from < count; from += portion) {
    const to = Math.min(from + portion, count) - 1;
    await database.query(usage, [accountId, from, to]);
    await database.query(payloads, [from, to]);
  }
}

const created = "timestamptz '2026-01-01T00:00:00Z' + n * interval '0.3 seconds'";
const id = "'txn-' || lpad(n::text, 9, '0')";

const usage =
  `insert into interactions (transaction_id, created_at, request_id, session_id, user_id,
    account_id, api_key_id, app, flow, cohort_id, endpoint, dialect, vendor, model, requested_model,
    mode, stream, status, http_status, finish_reason, input_tokens, cache_read_tokens,
    cache_write_tokens, output_tokens, reasoning_tokens, total_tokens, cost_nanos, charged_nanos,
    billing_basis, price_version, usage_raw, translation_loss, latency_ms, time_to_first_token_ms,
    payload_truncated)
  select ${id}, ${created}, 'req-' || n, 's-' || n / 10, 'u-' || n % 1000, $1::bigint, 'key-1',
    'shop', 'pay', 'c-' || n % 7, '/chat/v1/chat/completions', 'chat', 'vendor-b', 'gpt-4.1',
    'vendor-b/gpt-4.1', 'managed', n % 2 = 0, 'completed', 200, 'stop', 900, 0, 0, 120, 0, 1020,
    54399, 54399, 'reported', 'v1', '{"prompt_tokens":900,"completion_tokens":120}', '{}', 1200,
    300, false
  from generate_series($2::bigint, $3::bigint) as n`;

const payloads = `insert into interaction_payloads (transaction_id, created_at, request, response)
  select ${id}, ${created},
    '{"model":"vendor-b/gpt-4.1","messages":[{"role":"user","content":"Zeile \\"' || n ||
      '\\"\\n' || repeat('How are you, Grüße 漢字? ', 25) || '"}]}',
    '{"choices":[{"message":{"role":"assistant","content":"' || repeat('Fine, =1+1. ', 30) ||
      '"},"finish_reason":"stop"}]}'
  from generate_series($1::bigint, $2::bigint) as n`;
