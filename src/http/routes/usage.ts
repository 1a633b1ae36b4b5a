import type { UsageGroup } from "../../../contracts/data/usage.ts";
import { contracts } from "../../../contracts/mod.ts";
import type { Clock } from "../../base/clock.ts";
import { nanosToUsd } from "../../base/money.ts";
import type { Credit } from "../../credit/ledger.ts";
import { csvCell } from "../../exports/row_writers.ts";
import { exportMediaType } from "../../exports/export_spec.ts";
import type { FlushRecords } from "../../records/flush_records.ts";
import type { Reply } from "../../relay/reply.ts";
import type { GroupSums } from "../../shared/interaction.ts";
import { dayMs, startOfDay, startOfMonth, timeSpan } from "../../shared/time_span.ts";
import {
  reportUsage,
  type UsageReport,
  type UsageReportDeps,
  type UsageReportRow,
} from "../../usage/usage_report.ts";
import type { Endpoints } from "../bind.ts";

export type UsageRouteDeps = UsageReportDeps & {
  flushRecords: FlushRecords;
  /** The current credit, including what calls under way reserve. */
  credit: (accountId: number) => Promise<Credit>;
  clock: Pick<Clock, "now">;
};

/** Mounts sums of usage, and the account's credit. */
export function usageRoutes(app: Endpoints, deps: UsageRouteDeps): void {
  app.bind(contracts.getUsage, async ({ caller, query, header }) => {
    const accountId = caller.principal.account.id;
    const groups = [...new Set(query.group_by?.split(",") ?? [])] as UsageGroup[];
    const span = timeSpan(query);
    await deps.flushRecords({ accountId });
    const report = await reportUsage(deps, { accountId, groups, ...span });
    const isCsv = prefersCsv(header("accept"));
    const limit = query.limit ?? (isCsv ? Infinity : defaultLimit);
    const rows = shown(report, groups, limit);
    if (isCsv) return { reply: csvReply(groups, rows) };
    return {
      data: rows.map(({ values, erased, ...sums }) => ({
        ...Object.fromEntries(groups.map((group, at) => [group, values[at]!])),
        ...sumFields(sums),
        erased,
      })),
      total: sumFields(report.total),
      omitted: report.rows.length - rows.length,
    };
  });

  app.bind(contracts.getCredits, async ({ caller }) => {
    const accountId = caller.principal.account.id;
    await deps.flushRecords({ accountId });
    const now = deps.clock.now();
    const today = startOfDay(now).getTime();
    const [{ balanceNanos, reservedNanos }, days] = await Promise.all([
      deps.credit(accountId),
      deps.usage.steps({
        ...{ accountId, span: "day" },
        from: startOfMonth(now),
        to: new Date(today + dayMs),
      }),
    ]);
    const charged = (some: typeof days) =>
      nanosToUsd(some.reduce((sum, { chargedNanos }) => sum + chargedNanos, 0n));
    return {
      balance_usd: nanosToUsd(balanceNanos),
      reserved_usd: nanosToUsd(reservedNanos),
      charged_today_usd: charged(days.filter(({ at }) => at.getTime() === today)),
      charged_month_usd: charged(days),
    };
  });
}

const defaultLimit = 1000;

/** Returns the most expensive groups, sorted by day if they are grouped by day. */
function shown(
  { rows }: UsageReport,
  groups: readonly UsageGroup[],
  limit: number,
): UsageReportRow[] {
  const dearest = rows.slice(0, limit);
  const day = groups.indexOf("day");
  if (day < 0) return dearest;
  const dayOf = ({ values }: UsageReportRow) => values[day] ?? "";
  // Sorting is stable: within a day the most expensive stay first.
  return dearest.sort((one, other) =>
    dayOf(one) < dayOf(other) ? -1 : dayOf(one) > dayOf(other) ? 1 : 0
  );
}

function sumFields(sums: GroupSums) {
  return {
    calls: Number(sums.calls),
    failed: Number(sums.failed),
    input_tokens: Number(sums.inputTokens),
    output_tokens: Number(sums.outputTokens),
    cost_usd: nanosToUsd(sums.costNanos),
    charged_usd: nanosToUsd(sums.chargedNanos),
  };
}

/**
 * Whether the caller prefers CSV to JSON (RFC 9110 §12.5.1): by quality, and where that is equal, by
 * order. JSON that matches only a wildcard comes after CSV of the same quality.
 */
function prefersCsv(accept = ""): boolean {
  const ranges = accept.toLowerCase().split(",").map((range) => {
    const [type, ...parameters] = range.split(";").map((one) => one.trim());
    const quality = parameters.find((one) => one.startsWith("q="))?.slice(2) ?? "1";
    return { type, quality: Number(quality) };
  });
  const find = (name: string) => ranges.find(({ type }) => type === name);
  const csv = find("text/csv");
  if (!csv || !(csv.quality > 0)) return false;
  const json = find("application/json") ?? find("application/*") ?? find("*/*");
  if (!json || csv.quality !== json.quality) return !json || csv.quality > json.quality;
  return json.type !== "application/json" || ranges.indexOf(csv) < ranges.indexOf(json);
}

/** Groups with values of ours; the values of the others come from callers. */
const serviceDefinedGroups: ReadonlySet<UsageGroup> = new Set<UsageGroup>([
  "vendor",
  "api_key",
  "day",
]);

function csvReply(groups: readonly UsageGroup[], rows: readonly UsageReportRow[]): Reply {
  const names = Object.keys(sumFields(noSums));
  const lines = rows.map(({ values, erased, ...sums }) => {
    const labels = values.map((value, at) =>
      csvCell(value, serviceDefinedGroups.has(groups[at]!) ? "word" : "text", false)
    );
    return [...labels, ...Object.values(sumFields(sums)), erased].join(",") + "\r\n";
  });
  const header = [...groups, ...names, "erased"].join(",") + "\r\n";
  return {
    status: 200,
    headers: {
      "content-type": exportMediaType("csv"),
      "content-disposition": 'attachment; filename="usage.csv"',
    },
    body: header + lines.join(""),
  };
}

const noSums: GroupSums = {
  ...{ calls: 0n, failed: 0n, inputTokens: 0n, outputTokens: 0n, costNanos: 0n, chargedNanos: 0n },
};
