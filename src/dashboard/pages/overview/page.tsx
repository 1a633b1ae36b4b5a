import { playgroundKeyId } from "../../../playground/playground_calls.ts";
import { type PageContext, type PageRequest, redirect, type Routes } from "../../bind.tsx";
import { Empty, IgnoredValue } from "../../components.tsx";
import { nameText, unknownChoice } from "../../format.ts";
import { count, usd } from "../../amounts.ts";
import { modelName, type VendorNames } from "../../vendor_names.ts";
import { Breakdown, breakdowns } from "./breakdown.tsx";
import { axisOf, LatencyChart, RequestsChart, SpendChart, TokensChart } from "./charts.tsx";
import { breakdownCsv, stepsCsv } from "./csv.ts";
import { OverviewFigures } from "./figures.tsx";
import { type BreakdownPart, loadOverview, type Overview } from "./load.ts";
import { RangeChoice } from "./range_choice.tsx";
import { type Range, rangeText, readRange } from "./range.ts";
import { Standing } from "./standing.tsx";

/** The overview: spend, requests, errors, latency, tokens, and the account's balance and limits. */
export function overviewRoutes(app: Routes, ctx: PageContext): void {
  app.get("/dashboard/overview", "viewer", async (request) => {
    const { account } = request.session;
    const isAsked = ["range", "from", "to"].some((name) => request.query(name) !== undefined);
    const firstCall = isAsked ? undefined : await ctx.overview.usage.firstHour(account.id);
    const range = readRange(request.query, request.now, firstCall);
    const { by, problem } = askedBreakdown(request);
    const asked = { range, part: by.part, now: request.now };
    const overview = await loadOverview(ctx.overview, account.id, asked);
    const names = await namesOfKeys(ctx, account.id, by.part, overview.values);
    return {
      title: "Overview",
      section: "overview",
      lead: rangeText(range),
      scripts: ["chart.js"],
      action: <RangeChoice range={range} by={by.name} />,
      body: (
        <>
          <IgnoredValue problem={range.problem} shown="The last 30 days are shown." />
          <IgnoredValue problem={problem} shown="Models are shown." />
          <OverviewBody
            {...{ overview, range, by, request, names }}
            vendors={ctx.vendorNames}
          />
        </>
      ),
    };
  });
  app.get("/dashboard/overview/csv", "viewer", async (request) => {
    const { account } = request.session;
    const range = readRange(request.query, request.now);
    const { by, problem } = askedBreakdown(request);
    if (range.problem !== undefined || problem !== undefined) return toProblem(request);
    return await breakdownCsv(ctx.overview, account.id, {
      range,
      by,
      namesOf: (values) => namesOfKeys(ctx, account.id, by.part, values),
    });
  });
  app.get("/dashboard/overview/csv/steps", "viewer", async (request) => {
    const range = readRange(request.query, request.now);
    if (range.problem !== undefined) return toProblem(request);
    const asked = { range, part: "model" as const, now: request.now };
    return stepsCsv(await loadOverview(ctx.overview, request.accountId, asked), range);
  });
}

/** A file of other days or values would pass for the one asked for; the page says what is wrong. */
function toProblem({ fields }: PageRequest): Response {
  return redirect(`/dashboard/overview?${fields}`);
}

function askedBreakdown(request: PageRequest) {
  const asked = request.query("by");
  const by = breakdowns.find(({ name }) => name === asked);
  return by
    ? { by, problem: undefined }
    : { by: breakdowns[0], problem: unknownChoice(asked, "breakdown") };
}

/** Returns the names of the values, if these are keys. */
async function namesOfKeys(
  ctx: PageContext,
  accountId: number,
  part: BreakdownPart,
  values: readonly { value: string }[],
): Promise<ReadonlyMap<string, string>> {
  if (part !== "api_key") return new Map();
  const names = await ctx.keys.names(accountId, values.map(({ value }) => value));
  return new Map([[playgroundKeyId, "Playground"], ...names]);
}

interface BodyProps {
  overview: Overview;
  range: Range;
  by: typeof breakdowns[number];
  request: PageRequest;
  names: ReadonlyMap<string, string>;
  vendors: VendorNames;
}

function OverviewBody({ overview, range, by, request, names, vendors }: BodyProps) {
  const { account } = request.session;
  const nameOf = (value: string) => {
    if (by.part === "api_key") return names.get(value) ?? value;
    if (by.part === "vendor" || by.part === "model") return nameText(modelName(vendors, value));
    return value === "" ? `No ${by.name} ${by.name === "user" ? "id" : "tag"}` : nameText(value);
  };
  const axis = axisOf(overview, range);
  const charts = { overview, axis, nameOf, partName: by.title === "API key" ? by.title : by.name };
  const calls = overview.total.calls + overview.total.refused;
  return (
    <>
      {calls === 0 ? <NoCalls range={range} request={request} /> : (
        <>
          <OverviewFigures overview={overview} range={range} />
          <div class="charts">
            <SpendChart {...charts} />
            <Standing {...{ overview, range, account }} />
            <RequestsChart {...charts} range={range} />
            <LatencyChart {...charts} />
            <TokensChart {...charts} />
          </div>
          <Breakdown overview={overview} range={range} nameOf={nameOf} />
        </>
      )}
      {calls === 0 ? <Standing {...{ overview, range, account }} /> : null}
      <Counting erased={overview.erased} />
    </>
  );
}

function NoCalls({ range, request }: { range: Range; request: PageRequest }) {
  return (
    <Empty title={range.key === "custom" ? "No calls on these days" : "No calls in this time"}>
      <p>Spend, requests, errors, latency and tokens appear here after the first call.</p>
      <p class="buttons">
        {request.may("member")
          ? <a class="button button-primary" href="/dashboard/playground">Try a model</a>
          : null}
        <a class="button" href="/dashboard/keys">API Keys</a>
      </p>
    </Empty>
  );
}

function Counting({ erased }: { erased: Overview["erased"] }) {
  return (
    <details class="counting">
      <summary>How this is counted</summary>
      <div class="muted">
        <p>
          Days and hours are in UTC. A call counts once a request to a vendor has begun, at the time
          of its arrival. Spend is its cost by the price table, also with your own vendor key; the
          amount charged to credit is the sum of the ledger's entries for these calls. A call that
          failed, was cut off or was interrupted is an error; one whose caller left is not. The
          error rate is of calls and refused calls together; a call that the gateway refuses
          (invalid field, no credit) is not a request to a vendor, and is counted for 30 days.
        </p>
        <p>
          Input is without cached tokens, which the vendor read from its prompt cache, and output
          without reasoning tokens: the four don't overlap. p50, p95 and p99 are the times within
          which 50, 95 and 99 % of calls were answered.
        </p>
        <p>
          Latency percentiles are of completed calls, counted in intervals: at most 19 % off, as a
          rule 2 %. The change under a figure compares it with the preceding period of the same
          length; that of the error rate needs refused calls, so both periods must lie within 30
          days. The error rate of a longer time has the calls of all its days, and the refused calls
          of the last 30.
        </p>
        {erased.calls === 0 ? null : (
          <p>
            {`${count(erased.calls)} of these calls (${
              usd(erased.costNanos)
            }) no longer have a record: they were erased on request or because of their age. They stay in the sums, without the names of their apps, users, flows and cohorts, but are in no list.`}
          </p>
        )}
      </div>
    </details>
  );
}
