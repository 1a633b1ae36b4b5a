import type { Queryable, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import type { Interaction } from "../../shared/interaction.ts";
import { dayMs, hourMs } from "../../shared/time_span.ts";
import { LatencyHistogram } from "../latency_histogram.ts";

/**
 * Keeps `usage_sums` in step with `interactions`. Every statement that updates or deletes rows
 * there returns `countedColumns` of the rows it touched, and its transaction passes them, or the
 * calls that it added, to one of the functions below. So exactly what was written is counted.
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
  /** Whether it counts among the calls whose records are erased. */
  readonly erased: boolean;
}

/** Returns the changes for calls whose rows were added. */
export function addedCalls(calls: readonly Interaction[]): UsageChange[] {
  return calls.map((call) => ({ call: countedCall(call), sign: 1, erased: false }));
}

/** Returns `countedColumns` of a call, as in its row. */
export function countedCall(call: Interaction): CountedCall {
  return {
    account_id: call.accountId,
    created_at: call.createdAt,
    vendor: call.vendor,
    model: sanitizeText(call.model),
    api_key_id: call.apiKeyId,
    app: sanitizeText(call.app),
    mode: call.mode,
    status: call.status,
    billing_basis: call.billingBasis,
    latency_ms: call.latencyMs,
    cost_nanos: call.costNanos,
    charged_nanos: call.chargedNanos,
    input_tokens: call.inputTokens,
    cache_read_tokens: call.cacheReadTokens,
    cache_write_tokens: call.cacheWriteTokens,
    output_tokens: call.outputTokens,
    reasoning_tokens: call.reasoningTokens,
  };
}

/**
 * Returns the changes for rows that an update returned, with the previous values of changed columns
 * in `old_…`.
 */
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

/** Returns the changes for a call whose charge is refunded after the call was erased. */
export function refundedErased(call: Interaction, chargedNanos: bigint): UsageChange[] {
  const charged = { ...countedCall(call), charged_nanos: chargedNanos };
  return [
    { call: charged, sign: -1, erased: true },
    { call: { ...charged, charged_nanos: 0n }, sign: 1, erased: true },
  ];
}

/** Applies the changes in one statement; deletes sums without calls. */
export async function changeUsage(
  tx: Queryable,
  changes: readonly UsageChange[],
): Promise<void> {
  const rows = sumsOf(changes);
  if (rows.length === 0) return;
  const sent = JSON.stringify(rows);
  await tx.query(
    `${insertSums} select ${keyColumns.join(", ")}, ${
      sumColumns.map((name) => `coalesce(${name}, 0)`).join(", ")
    }
    from json_to_recordset($1::text::json) as r(${rowType}) ${addToThere}`,
    [sent],
  );
  if (!changes.some(({ sign }) => sign < 0)) return;
  await deleteLabelSums(tx, sent);
  // Sums without calls may hold names of apps that no call has any more.
  await tx.query(
    `delete from usage_sums s using json_to_recordset($1::text::json) as r(${rowType})
     where s.calls = 0 and not s.erased and r.calls < 0
       and ${keyColumns.map((name) => `s.${name} = r.${name}`).join(" and ")}`,
    [sent],
  );
}

/**
 * Deletes the label sums of hours and days with corrected or erased calls, since they hold labels
 * of these calls. `label_sums` has those of the previous version.
 */
async function deleteLabelSums(tx: Queryable, changedSums: string): Promise<void> {
  const changed = `json_to_recordset($1::text::json) as r(${rowType})
     where r.part = 'all' and l.account_id = r.account_id and l.at = r.at`;
  await tx.query(`delete from label_steps l using ${changed} and l.span = r.span`, [changedSums]);
  await tx.query(`delete from label_sums l using ${changed} and r.span = 'day'`, [changedSums]);
}

/**
 * Moves the sums of a month whose partition is dropped to the sums of erased calls; part of the
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

/** Rows are locked in the order of their key, so that two transactions can't deadlock. */
const addToThere = `order by 1, 2, 3, 4, 5, 6 on conflict (${
  keyColumns.join(", ")
}) do update set ${sumColumns.map((name) => `${name} = s.${name} + excluded.${name}`).join(", ")}`;

/** Returns one row for each key that changes, with only the sums that change. */
function sumsOf(changes: readonly UsageChange[]): Record<string, unknown>[] {
  const counted = changes.map((change) => ({ change, sums: sumsOfOne(change) }));
  const rows = new Map<string, { key: UsageKey; sums: Sums }>();
  for (const grouping of groupings) {
    for (const { change, sums } of groupsOf(counted, grouping)) {
      for (const key of keysOf(change, grouping)) addTo(rows, nameOf(key), sums, { key });
    }
  }
  return [...rows.values()].flatMap(({ key, sums }) => {
    const changed = sumColumns.filter((name) => sums[name] !== 0n);
    if (changed.length === 0) return [];
    return [{ ...key, ...Object.fromEntries(changed.map((name) => [name, `${sums[name]}`])) }];
  });
}

interface Counted {
  change: UsageChange;
  sums: Sums;
}

/** Parts whose sums are added up together, and the names by which their calls are grouped. */
interface Grouping {
  parts: readonly (keyof typeof valueOf)[];
  namesOf(change: UsageChange): unknown[];
}

/** API keys are apart, since a batch may have as many as calls; the other names are few. */
const groupings: readonly Grouping[] = [
  {
    parts: ["all", "vendor", "model", "app"],
    namesOf: ({ call, erased }) => [call.vendor, call.model, erased ? null : call.app],
  },
  { parts: ["api_key"], namesOf: ({ call }) => [call.api_key_id] },
];

/** Adds up calls that count under the same keys. */
function groupsOf(counted: readonly Counted[], { namesOf }: Grouping): Iterable<Counted> {
  const found = new Map<string, Counted>();
  for (const { change, sums } of counted) {
    const { call, erased } = change;
    const kind = JSON.stringify([`${call.account_id}`, hourOf(call), erased, ...namesOf(change)]);
    addTo(found, kind, sums, { change });
  }
  return found.values();
}

function addTo<T extends object>(
  found: Map<string, T & { sums: Sums }>,
  name: string,
  sums: Sums,
  rest: T,
): void {
  const there = found.get(name);
  if (there) add(there.sums, sums);
  else found.set(name, { ...rest, sums: { ...sums } });
}

function add(sums: Sums, more: Sums): void {
  // Most sums are zero.
  for (const name of sumColumns) if (more[name] !== 0n) sums[name] += more[name];
}

/**
 * Returns the keys of each part by hour and by day. Over all groupings these are the ten keys that
 * a call counts under.
 */
function keysOf({ call, erased }: UsageChange, { parts }: Grouping): UsageKey[] {
  const hour = hourOf(call);
  const times = [["hour", hour], ["day", Math.floor(hour / dayMs) * dayMs]] as const;
  const account_id = String(call.account_id);
  return times.flatMap(([span, ms]) => {
    const at = new Date(ms).toISOString();
    return parts.map((part) => {
      const value = valueOf[part](call, erased);
      return { account_id, span, part, at, value, erased };
    });
  });
}

const valueOf = {
  all: () => "",
  vendor: (call) => String(call.vendor),
  model: (call) => shortened(`${call.vendor}/${call.model}`),
  api_key: (call) => String(call.api_key_id),
  app: (call, erased) => erased ? "" : String(call.app ?? ""),
} satisfies Record<string, (call: CountedCall, erased: boolean) => string>;

type UsageKey = Record<typeof keyColumns[number], string | boolean>;

/** Returns a unique text for a key. The value comes last, since it may be any text. */
function nameOf({ account_id, span, part, at, value, erased }: UsageKey): string {
  return `${account_id} ${span} ${part} ${at} ${erased} ${value}`;
}

/**
 * Returns the beginning of the call's hour (UTC) in ms since 1970; works for negative times too.
 */
function hourOf(call: CountedCall): number {
  return Math.floor((call.created_at as Date).getTime() / hourMs) * hourMs;
}

/** Cuts model names, since callers may make up any. Counts code points, as the database does. */
function shortened(model: string): string {
  return model.length <= maxModel ? model : [...model].slice(0, maxModel).join("");
}

const maxModel = 256;

function sumsOfOne({ call, sign: one }: UsageChange): Sums {
  const sign = BigInt(one);
  const count = (is: boolean) => is ? sign : 0n;
  // NaN is stored as null in the row.
  const sum = (value: unknown) =>
    value === null || Number.isNaN(value) ? 0n : sign * BigInt(value as bigint);
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
