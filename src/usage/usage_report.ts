import type { UsageGroup } from "../../contracts/data/usage.ts";
import { type Fault, invalidValue } from "../shared/fault.ts";
import type { GroupedCalls, GroupedCallsQuery, GroupSums } from "../shared/interaction.ts";
import { dayMs, hourMs, startOfDay, type TimeSpan } from "../shared/time_span.ts";
import {
  isWholeDays,
  type UsageGroupSums,
  type UsagePart,
  type UsageQuery,
  type UsageStore,
} from "./usage_sums.ts";

export interface UsageReportDeps {
  usage: Pick<UsageStore, "steps" | "groups">;
  /** Sums read from the calls themselves (`AnalyticsReads.groupedCalls`). */
  groupedCalls: (query: GroupedCallsQuery) => Promise<GroupedCalls[] | undefined>;
}

export interface UsageReportRequest extends TimeSpan {
  accountId: number;
  /** Without duplicates; empty: one row of all calls. */
  groups: readonly UsageGroup[];
}

export interface UsageReportRow extends GroupSums {
  /** In the order of the request's groups. */
  values: readonly (string | null)[];
  /** Whether the row is of erased calls, if a label that groups them was erased too. */
  erased: boolean;
}

export interface UsageReport {
  /** The costliest first. */
  rows: UsageReportRow[];
  total: GroupSums;
}

/** The most groups of a report: nobody can read more. */
const maxGroups = 50_000;
/** The most calls that one statement reads, unless a single hour has more. */
const callsAtOnce = 10_000;

/**
 * Sums an account's calls by one or several labels. It reads the sums that are written with each
 * call where they suffice (one of model, vendor, app and key, or model and vendor, each with or
 * without the day), which takes milliseconds; else the calls, day by day. Whatever the groups, the
 * rows add up to the same total. Throws `invalid_value` for a time that isn't on the hour, and for
 * too many groups.
 */
export async function reportUsage(
  deps: UsageReportDeps,
  { accountId, groups, ...span }: UsageReportRequest,
): Promise<UsageReport> {
  const query = { accountId, ...wholeHours(span) };
  const part = partOf(groups);
  const found = part === undefined
    ? await fromCalls(deps, query, groups)
    : await fromSums(deps, query, groups, part);
  const rows = merged(found);
  rows.sort(byCost);
  return { rows, total: rows.reduce<GroupSums>(plus, noCalls) };
}

type Span = Pick<UsageQuery, "accountId" | "from" | "to">;

function wholeHours({ start, end }: TimeSpan): Pick<UsageQuery, "from" | "to"> {
  for (const [param, time] of [["start_date", start], ["end_date", end]] as const) {
    if (time === undefined || time.getTime() % hourMs === 0) continue;
    throw invalidValue(
      param,
      "expected a day, or a time at the beginning of an hour: usage is summed by the hour",
    );
  }
  return { from: start ?? new Date(0), to: end ?? new Date("9999-12-31T00:00:00Z") };
}

/** Returns the part of the sums that has these groups; undefined if the sums don't suffice. */
function partOf(groups: readonly UsageGroup[]): UsagePart | "all" | undefined {
  const [first, ...more] = groups.filter((group) => group !== "day");
  if (first === undefined) return "all";
  // A model's name begins with its vendor.
  if ([first, ...more].every((group) => group === "model" || group === "vendor")) {
    return groups.includes("model") ? "model" : "vendor";
  }
  return more.length === 0 && (first === "app" || first === "api_key") ? first : undefined;
}

/** Reads by day if the span consists of whole days, because there are fewer of them. */
function withSpan(query: Span): UsageQuery {
  return { ...query, span: isWholeDays(query) ? "day" : "hour" };
}

async function fromSums(
  { usage }: UsageReportDeps,
  query: Span,
  groups: readonly UsageGroup[],
  part: UsagePart | "all",
): Promise<UsageReportRow[]> {
  const by = { part, byDay: groups.includes("day") };
  const found = await usage.groups(withSpan(query), by, maxGroups);
  return enough(found).map((sums) => ({
    ...sumsOf(sums),
    values: valuesOf(groups, part, sums),
    // Of the labels in the sums, erasure removes only the app.
    erased: sums.erased && part === "app",
  }));
}

async function fromCalls(
  deps: UsageReportDeps,
  query: Span,
  groups: readonly UsageGroup[],
): Promise<UsageReportRow[]> {
  const rows = new Map<string, UsageReportRow>();
  const add = (row: UsageReportRow) => {
    const key = JSON.stringify([row.values, row.erased]);
    const existing = rows.get(key);
    rows.set(key, existing ? { ...existing, ...plus(existing, row) } : row);
    if (rows.size > maxGroups) throw tooManyGroups();
  };
  const part: UsagePart | "all" =
    (["model", "api_key", "vendor"] as const).find((one) => groups.includes(one)) ??
      "all";
  for (const { from, to } of await slices(deps.usage, query)) {
    const { calls, erased } = await readSlice(deps, { ...query, from, to }, groups, part);
    for (const { values, ...sums } of calls) add({ ...sums, values, erased: false });
    for (const one of erased) {
      add({ ...sumsOf(one), values: valuesOf(groups, part, one), erased: true });
    }
  }
  return [...rows.values()];
}

/** The most reads of one slice while its calls are being erased. */
const maxReads = 20;

/**
 * Reads the stored and the erased calls as of one moment: a call that is erased between the two
 * reads would count twice.
 */
async function readSlice(
  { usage, groupedCalls }: UsageReportDeps,
  { accountId, from, to }: Span,
  groups: readonly UsageGroup[],
  part: UsagePart | "all",
): Promise<{ calls: GroupedCalls[]; erased: UsageGroupSums[] }> {
  const query = withSpan({ accountId, from, to });
  const by = { part, byDay: groups.includes("day"), erasedOnly: true };
  const readErased = async () => enough(await usage.groups(query, by, maxGroups));
  // Counts of erased calls only grow, so an equal count means that none was erased meanwhile.
  const countOf = (sums: readonly GroupSums[]) => sums.reduce((sum, one) => sum + one.calls, 0n);
  let erased = await readErased();
  for (let reads = 1;; reads++) {
    const calls = enough(
      await groupedCalls({ accountId, labels: groups, from, to, most: maxGroups }),
    );
    const before = erased;
    erased = await readErased();
    if (countOf(erased) === countOf(before) || reads === maxReads) return { calls, erased };
  }
}

/** Returns spans that cover all calls, each with as many calls as one statement reads. */
async function slices(
  usage: Pick<UsageStore, "steps">,
  query: Span,
): Promise<{ from: Date; to: Date }[]> {
  const { accountId } = query;
  const to = new Date(Math.ceil(query.to.getTime() / dayMs) * dayMs);
  const days = await usage.steps({ accountId, span: "day", from: startOfDay(query.from), to });
  const steps: { at: Date; ms: number; calls: number }[] = [];
  for (const { at, calls } of days) {
    if (calls <= callsAtOnce) {
      steps.push({ at, ms: dayMs, calls });
      continue;
    }
    const day = { accountId, from: at, to: new Date(at.getTime() + dayMs) };
    const hours = await usage.steps({ ...day, span: "hour" });
    for (const hour of hours) steps.push({ at: hour.at, ms: hourMs, calls: hour.calls });
  }
  const found: { from: Date; to: Date; calls: number }[] = [];
  for (const { at, ms, calls } of steps) {
    const from = at < query.from ? query.from : at;
    const until = new Date(Math.min(at.getTime() + ms, query.to.getTime()));
    const last = found.at(-1);
    if (until <= from) continue;
    if (last && last.calls + calls <= callsAtOnce) {
      Object.assign(last, { to: until, calls: last.calls + calls });
    } else found.push({ from, to: until, calls });
  }
  return found;
}

/** Returns a row's values from a group of the sums; null for labels that these sums don't have. */
function valuesOf(
  groups: readonly UsageGroup[],
  part: UsagePart | "all",
  { value, day }: UsageGroupSums,
): (string | null)[] {
  return groups.map((group) => {
    if (group === "day") return day;
    if (group === part) return value === "" ? null : value;
    return group === "vendor" && part === "model" ? value.slice(0, value.indexOf("/")) : null;
  });
}

/** Adds up rows of the same values, such as those of stored and of erased calls. */
function merged(rows: readonly UsageReportRow[]): UsageReportRow[] {
  const groups = Map.groupBy(rows, ({ values, erased }) => JSON.stringify([values, erased]));
  return [...groups.values()].map(([first, ...more]) =>
    more.reduce((sum, one) => ({ ...sum, ...plus(sum, one) }), first!)
  );
}

const noCalls: GroupSums = {
  ...{ calls: 0n, failed: 0n, inputTokens: 0n, outputTokens: 0n, costNanos: 0n, chargedNanos: 0n },
};

function sumsOf(sums: GroupSums): GroupSums {
  return plus(sums, noCalls);
}

function plus(one: GroupSums, other: GroupSums): GroupSums {
  return {
    calls: one.calls + other.calls,
    failed: one.failed + other.failed,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    costNanos: one.costNanos + other.costNanos,
    chargedNanos: one.chargedNanos + other.chargedNanos,
  };
}

function byCost(one: UsageReportRow, other: UsageReportRow): number {
  const difference = other.costNanos - one.costNanos || other.calls - one.calls;
  if (difference !== 0n) return difference > 0n ? 1 : -1;
  const [first, second] = [JSON.stringify(one.values), JSON.stringify(other.values)];
  return first < second ? -1 : first > second ? 1 : 0;
}

function enough<T>(found: T[] | undefined): T[] {
  if (found === undefined) throw tooManyGroups();
  return found;
}

function tooManyGroups(): Fault {
  const many = `more than ${maxGroups} groups; narrow the dates, or group by fewer labels`;
  return invalidValue("group_by", many);
}
