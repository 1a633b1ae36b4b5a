import type { StoredMonth } from "../../../erasure/retention.ts";
import { bytes, counted } from "../../amounts.ts";
import { type PageContext, type PageRequest, type Routes } from "../../bind.tsx";
import { numberColumn, Table } from "../../components.tsx";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { day, exactTime } from "../../format.ts";
import { settingsPage } from "../settings/settings_page.tsx";
import { dayMs, startOfMonth } from "../../../shared/time_span.ts";

const address = "/dashboard/settings/retention";

/** The page about retention: how long records are kept, and when stored months are erased. */
export function retentionRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", async (request) => {
    const { oldest, months, showsSizes } = await readMonths(ctx, request);
    const rules = rulesOf(ctx.retention);
    return settingsPage(
      "retention",
      request,
      <>
        <Rules rules={rules} now={request.now} />
        <h2>What is stored</h2>
        <p class="lead">
          {oldest === undefined
            ? "No calls of this account are stored."
            : `The oldest call of this account is from ${exactTime(oldest)}.`}
        </p>
        {months.length === 0
          ? null
          : <Months months={months} rules={rules} showsSizes={showsSizes} />}
      </>,
    );
  });
  app.get(`${address}/csv`, "viewer", async (request) => {
    const { months, showsSizes } = await readMonths(ctx, request);
    const rules = rulesOf(ctx.retention);
    return csvFile("stored-months", {
      month: ({ month }: StoredMonth) => month.toISOString().slice(0, 7),
      payloads_gone_by: ({ month }) => goneAt(month, rules.payload),
      usage_gone_by: ({ month }) => goneAt(month, rules.usage),
      ...(showsSizes ? sizeColumns : {}),
    }, months);
  });
}

const sizeColumns: CsvColumns<StoredMonth> = {
  usage_bytes: ({ usageBytes }) => usageBytes,
  payload_bytes: ({ payloadBytes }) => payloadBytes,
};

/** Reads the months that have calls of the account; only the operator sees their size on disk. */
async function readMonths(ctx: PageContext, request: PageRequest) {
  const [oldest, months, operator] = await Promise.all([
    ctx.partitionsInUse.oldestCall(request.accountId),
    ctx.partitionsInUse.list(),
    ctx.operatorAccountId(),
  ]);
  const own = months.filter(({ month }) =>
    oldest && startOfMonth(month, 1) > oldest && month <= request.now
  );
  return { oldest, months: own, showsSizes: operator === request.accountId };
}

/** How many days records are kept; undefined: forever. */
interface RetentionRules {
  payload: number | undefined;
  usage: number | undefined;
}

/**
 * Returns the rules as they take effect: payloads are kept no longer than usage, since no payload
 * outlives its row (`src/erasure/retention_job.ts`).
 */
function rulesOf({ payloadDays, usageDays }: PageContext["retention"]): RetentionRules {
  const shortest = Math.min(payloadDays ?? Infinity, usageDays ?? Infinity);
  return { payload: shortest === Infinity ? undefined : shortest, usage: usageDays };
}

function Rules({ rules, now }: { rules: RetentionRules; now: Date }) {
  const kinds = [
    {
      name: "Payloads",
      variable: "RETENTION_PAYLOAD_DAYS",
      days: rules.payload,
      what: "Content: requests, answers, media, stored responses, graders' explanations.",
    },
    {
      name: "Usage",
      variable: "RETENTION_USAGE_DAYS",
      days: rules.usage,
      what: "One row per call: model, tokens, cost, tags, times. Also evaluations.",
    },
  ];
  return (
    <>
      <h2>Retention</h2>
      <p class="lead narrow">
        Set in the service's environment for all accounts; it can't be changed here. Data that is
        too old is erased within the hour, permanently. Ledger entries and the audit log stay.
      </p>
      <div class="tiles tiles-wide">
        {kinds.map(({ name, variable, days, what }) => (
          <div class="tile">
            <h3>{name}</h3>
            <p class="tile-value">{days === undefined ? "Forever" : counted(days, "day")}</p>
            <p class="hint">{what}</p>
            <p class="hint">
              {days === undefined
                ? "Nothing is erased because of its age."
                : `Erased now: everything before ${
                  exactTime(new Date(now.getTime() - days * dayMs))
                }.`}
            </p>
            <p>
              <code>{variable}</code>
            </p>
          </div>
        ))}
      </div>
      <p class="hint narrow">
        To erase something sooner, see <a href="/dashboard/deletion">Data deletion</a>.
      </p>
    </>
  );
}

function Months({ months, rules, showsSizes }: {
  months: readonly StoredMonth[];
  rules: RetentionRules;
  showsSizes: boolean;
}) {
  const sizes = showsSizes
    ? [numberColumn("Usage, all accounts"), numberColumn("Payloads, all accounts")]
    : [];
  return (
    <Table
      label="Stored months"
      head={["Month", "Payloads erased by", "Usage erased by", ...sizes]}
      csv={`${address}/csv`}
    >
      {months.map(({ month, usageBytes, payloadBytes }) => (
        <tr>
          <td class="name">{monthName(month)}</td>
          <td>{goneBy(month, rules.payload)}</td>
          <td>{goneBy(month, rules.usage)}</td>
          {showsSizes
            ? (
              <>
                <td class="number">{bytes(usageBytes)}</td>
                <td class="number">{bytes(payloadBytes)}</td>
              </>
            )
            : null}
        </tr>
      ))}
    </Table>
  );
}

/** The day on which the month's last record is too old. */
function goneBy(month: Date, days: number | undefined) {
  const at = goneAt(month, days);
  return at === null ? <span class="muted">Never</span> : day(at);
}

function goneAt(month: Date, days: number | undefined): Date | null {
  return days === undefined ? null : new Date(startOfMonth(month, 1).getTime() + days * dayMs);
}

/** `November 2026`. */
function monthName(month: Date): string {
  return month.toLocaleDateString("en-US", { month: "long", year: "numeric", timeZone: "UTC" });
}
