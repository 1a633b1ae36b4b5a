import type { Queryable, SqlRow } from "../../database/database.ts";
import { LatencyHistogram } from "../latency_histogram.ts";

/**
 * Keeps `usage_sums` in step with `interactions`. Every statement that inserts, updates or deletes
 * rows there returns `countedColumns` of the rows it touched, and its transaction hands them to one
 * of the functions below: what is counted is what was written.
 */

/** Columns of `interactions` that the sums are made of. */
export const countedColumns = [
  ...["account_id", "created_at", "vendor", "model", "api_key_id", "app", "mode", "status"],
  ...["billing_basis", "latency_ms", "cost_nanos", "charged_nanos"],
  ...["input_tokens", "cache_read_tokens", "cache_write_tokens"],
  ...["output_tokens", "reasoning_tokens"],
] as const;

/** `countedColumns` of one row, as the database gives them. */
export type CountedCall = Readonly<Record<typeof countedColumns[number], unknown>>;

/** A call that is added to the sums or subtracted. */
export interface UsageChange {
  readonly call: CountedCall;
  readonly sign: 1 | -1;
  /** Counts among the calls whose records are erased. */
  readonly erased: boolean;
}

/** The rows that an insert returned. */
export function addedCalls(rows: readonly SqlRow[]): UsageChange[] {
  return rows.map((row) => ({ call: row as CountedCall, sign: 1, erased: false }));
}

/** Rows that an update returned, each with the columns as they were in `old_…`. */
export function correctedCalls(rows: readonly SqlRow[]): UsageChange[] {
  return rows.flatMap((row) => {
    const call = row as CountedCall;
    const old: Record<string, unknown> = {};
    for (const name of countedColumns) {
      if (`old_${name}` in row) old[name] = row[`old_${name}`];
    }
    return [
      { call: { ...call, ...old }, sign: -1, erased: false },
      { call, sign: 1, erased: false },
    ] as const;
  });
}

/** Moves the rows that a delete returned to the sums of erased calls. */
export async function countErased(tx: Queryable, rows: readonly SqlRow[]): Promise<void> {
  const calls = rows as readonly CountedCall[];
  await changeUsage(tx, [
    ...calls.map((call) => ({ call, sign: -1, erased: false }) as const),
    ...calls.map((call) => ({ call, sign: 1, erased: true }) as const),
  ]);
}

/** Applies the changes in one statement; deletes sums without calls. */
export async function changeUsage(
  tx: Queryable,
  changes: readonly UsageChange[],
): Promise<void> {
  const rows = sumsOf(changes);
  if (rows.length === 0) return;
  const sent = JSON.stringify(rows, (_, value) => typeof value === "bigint" ? `${value}` : value);
  await tx.query(
    `${insertSums} select ${[...keyColumns, ...sumColumns].join(", ")}
    from json_to_recordset($1::text::json) as r(${rowType}) ${addToThere}`,
    [sent],
  );
  if (!changes.some(({ sign }) => sign < 0)) return;
  await deleteLabelSums(tx, sent);
  // They may hold the names of apps that no call bears any more.
  await tx.query(
    `delete from usage_sums s using json_to_recordset($1::text::json) as r(${rowType})
     where s.calls = 0 and not s.erased and r.calls < 0
       and ${keyColumns.map((name) => `s.${name} = r.${name}`).join(" and ")}`,
    [sent],
  );
}

/**
 * Sums of hours and days of which calls were corrected or erased: they hold the names of these. So do
 * those of the version before, in `label_sums`.
 */
async function deleteLabelSums(tx: Queryable, changedSums: string): Promise<void> {
  const changed = `json_to_recordset($1::text::json) as r(${rowType})
     where r.part = 'all' and l.account_id = r.account_id and l.at = r.at`;
  await tx.query(`delete from label_steps l using ${changed} and l.span = r.span`, [changedSums]);
  await tx.query(`delete from label_sums l using ${changed} and r.span = 'day'`, [changedSums]);
}

/**
 * Moves the sums of a month whose partition is dropped to those of what is erased; part of the
 * transaction that drops it.
 */
export async function countMonthErased(tx: Queryable, from: Date, until: Date): Promise<void> {
  await tx.query(
    `with gone as (
       delete from usage_sums where not erased and at >= $1 and at < $2 returning *
     ) ${insertSums}
     select account_id, span, part, at, case when part = 'app' then '' else value end, true,
       ${sumColumns.map((name) => `sum(${name})`).join(", ")}
     from gone group by 1, 2, 3, 4, 5, 6 ${addToThere}`,
    [from, until],
  );
  for (const table of ["label_steps", "label_sums"]) {
    await tx.query(`delete from ${table} where at >= $1 and at < $2`, [from, until]);
  }
}

const keyColumns = ["account_id", "span", "part", "at", "value", "erased"] as const;
const keyTypes = ["bigint", "text", "text", "timestamptz", "text", "boolean"] as const;

/** The columns that are summed; all `numeric`. */
export const sumColumns = [
  ...["calls", "failed", "truncated", "cancelled", "interrupted", "unpriced"],
  ...["input_tokens", "cache_read_tokens", "cache_write_tokens"],
  ...["output_tokens", "reasoning_tokens"],
  ...["cost_nanos", "charged_nanos", "own_key_nanos", "latencies"],
] as const;

type Sums = Record<typeof sumColumns[number], bigint>;

const rowType = [
  ...keyColumns.map((name, at) => `${name} ${keyTypes[at]}`),
  ...sumColumns.map((name) => `${name} numeric`),
].join(", ");

const insertSums = `insert into usage_sums as s (${[...keyColumns, ...sumColumns].join(", ")})`;

/** Rows are locked in the order of their key, so that no two transactions wait for each other. */
const addToThere = `order by 1, 2, 3, 4, 5, 6 on conflict (${
  keyColumns.join(", ")
}) do update set ${sumColumns.map((name) => `${name} = s.${name} + excluded.${name}`).join(", ")}`;

/** One row for each key that changes. */
function sumsOf(changes: readonly UsageChange[]): Record<string, unknown>[] {
  const rows = new Map<string, { key: Record<string, unknown>; sums: Sums }>();
  for (const { first, sums } of groups(changes)) {
    for (const key of keysOf(first)) {
      const name = JSON.stringify(Object.values(key));
      const row = rows.get(name);
      if (row) add(row.sums, sums);
      else rows.set(name, { key, sums: { ...sums } });
    }
  }
  const changed = [...rows.values()].filter(({ sums }) => Object.values(sums).some((sum) => sum));
  return changed.map(({ key, sums }) => ({ ...key, ...sums }));
}

/** Calls that count under the same keys, added up: mostly a batch has few kinds. */
function groups(changes: readonly UsageChange[]): Iterable<{ first: UsageChange; sums: Sums }> {
  const found = new Map<string, { first: UsageChange; sums: Sums }>();
  for (const change of changes) {
    const { call, erased } = change;
    const kind = JSON.stringify([
      ...[String(call.account_id), hourOf(call), erased, call.vendor, call.model],
      ...[call.api_key_id, erased ? null : call.app],
    ]);
    const group = found.get(kind);
    if (group) add(group.sums, sumsOfOne(change));
    else found.set(kind, { first: change, sums: sumsOfOne(change) });
  }
  return found.values();
}

function add(sums: Sums, more: Sums): void {
  for (const name of sumColumns) sums[name] += more[name];
}

/** The ten keys that a call counts under. */
function keysOf({ call, erased }: UsageChange): Record<string, unknown>[] {
  const vendor = String(call.vendor);
  const parts = [
    ["all", ""],
    ["vendor", vendor],
    ["model", shortened(`${vendor}/${call.model}`)],
    ["api_key", String(call.api_key_id)],
    ["app", erased ? "" : String(call.app ?? "")],
  ];
  const hour = hourOf(call);
  const times = [["hour", hour], ["day", Math.floor(hour / dayMs) * dayMs]] as const;
  return times.flatMap(([span, ms]) =>
    parts.map(([part, value]) => ({
      ...{ account_id: String(call.account_id), span, part, at: new Date(ms).toISOString() },
      ...{ value, erased },
    }))
  );
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** When the call's hour of UTC begins; hours before 1970 too. */
function hourOf(call: CountedCall): number {
  return Math.floor((call.created_at as Date).getTime() / hourMs) * hourMs;
}

/** Names of models that callers made up are of any length; characters are those of the database. */
function shortened(model: string): string {
  return model.length <= maxModel ? model : [...model].slice(0, maxModel).join("");
}

const maxModel = 256;

function sumsOfOne({ call, sign: one }: UsageChange): Sums {
  const sign = BigInt(one);
  const count = (is: boolean) => is ? sign : 0n;
  const sum = (value: unknown) => value === null ? 0n : sign * BigInt(value as bigint);
  const { status, cost_nanos: cost } = call;
  return {
    calls: sign,
    failed: count(status === "failed"),
    truncated: count(status === "truncated"),
    cancelled: count(status === "cancelled"),
    interrupted: count(status === "interrupted"),
    unpriced: count(cost === null && call.billing_basis !== "none"),
    input_tokens: sum(call.input_tokens),
    cache_read_tokens: sum(call.cache_read_tokens),
    cache_write_tokens: sum(call.cache_write_tokens),
    output_tokens: sum(call.output_tokens),
    reasoning_tokens: sum(call.reasoning_tokens),
    cost_nanos: sum(cost),
    charged_nanos: sum(call.charged_nanos),
    own_key_nanos: call.mode === "managed" ? 0n : sum(cost),
    latencies: status === "completed"
      ? sign * LatencyHistogram.digitsOfOne(Number(call.latency_ms))
      : 0n,
  };
}
