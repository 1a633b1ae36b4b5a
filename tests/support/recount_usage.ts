import type { Queryable } from "../../src/database/database.ts";

/** Recomputes the sums from stored calls, for tests that write calls with their own statements. */
export async function recountUsage(database: Queryable): Promise<void> {
  await database.query("delete from usage_sums where not erased");
  await database.query(
    `insert into usage_sums (${usageColumns}, erased)
     select ${usageColumns}, false from (${usageFromRows}) as counted`,
  );
}

/** The interval that a latency is counted in, written apart from `LatencyHistogram` as a check. */
const interval =
  `width_bucket(latency_ms, array[8, 10, 12, 14, 16, 20, 23, 27, 32, 39, 46, 54, 64, 77, 91, 108, 128,
    153, 182, 216, 256, 305, 363, 431, 512, 609, 725, 862, 1024, 1218, 1449, 1723, 2048, 2436, 2897,
    3445, 4096, 4871, 5793, 6889, 8192, 9742, 11586, 13778, 16384, 19484, 23171, 27555, 32768,
    38968, 46341, 55109, 65536, 77936, 92682, 110218, 131072, 155872, 185364, 220436, 262144,
    311744, 370728, 440872, 524288, 623488, 741456, 881744, 1048576]::bigint[])`;

export const usageColumns =
  `account_id, span, part, at, value, calls, failed, truncated, cancelled, interrupted,
  input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_nanos,
  charged_nanos, own_key_nanos, unpriced, latencies`;

/** Computes `usageColumns` from the rows of calls. */
export const usageFromRows =
  `select account_id, span, part, date_trunc(span, created_at, 'UTC') as at,
    value, count(*)::numeric as calls,
    count(*) filter (where status = 'failed')::numeric as failed,
    count(*) filter (where status = 'truncated')::numeric as truncated,
    count(*) filter (where status = 'cancelled')::numeric as cancelled,
    count(*) filter (where status = 'interrupted')::numeric as interrupted,
    coalesce(sum(input_tokens), 0) as input_tokens,
    coalesce(sum(cache_read_tokens), 0) as cache_read_tokens,
    coalesce(sum(cache_write_tokens), 0) as cache_write_tokens,
    coalesce(sum(output_tokens), 0) as output_tokens,
    coalesce(sum(reasoning_tokens), 0) as reasoning_tokens,
    coalesce(sum(cost_nanos), 0) as cost_nanos, coalesce(sum(charged_nanos), 0) as charged_nanos,
    coalesce(sum(cost_nanos) filter (where mode <> 'managed'), 0) as own_key_nanos,
    count(*) filter (where cost_nanos is null and billing_basis <> 'none')::numeric as unpriced,
    coalesce(sum(10::numeric ^ (10 * ${interval})) filter (where status = 'completed'), 0)::numeric(700, 0)
      as latencies
  from interactions cross join (values ('hour'), ('day')) as spans (span)
    cross join lateral (values ('all', ''), ('vendor', vendor),
      ('model', left(vendor || '/' || model, 256)), ('api_key', api_key_id),
      ('app', coalesce(app, ''))) as parts (part, value)
  group by 1, 2, 3, 4, 5`;
