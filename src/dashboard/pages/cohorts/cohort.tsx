import { cohortIdSchema } from "../../../../contracts/kernel/common.ts";
import type { LatestSums } from "../../../cohorts/cohort.ts";
import { differencesOf } from "../../../cohorts/cohort_comparison.ts";
import { figuresBody, figuresOf } from "../../../cohorts/cohort_report.ts";
import { modelsBody } from "../../../cohorts/model_comparison.ts";
import { count, counted, duration, usd, usdText } from "../../amounts.ts";
import { NotFound, type Page, type PageContext, type PageRequest, redirect } from "../../bind.tsx";
import {
  Empty,
  IgnoredValue,
  Isolated,
  numberColumn,
  Table,
  Tabs,
  Tile,
} from "../../components.tsx";
import { exactTime, unknownChoice } from "../../format.ts";
import type { FieldErrors } from "../../faults.ts";
import { type Shown, TextField } from "../../fields.tsx";
import { CohortComparison, dollars, Warnings } from "./cohort_comparison.tsx";
import { ModelComparison } from "./model_comparison.tsx";
import { dayMs } from "../../../shared/time_span.ts";

/** How many of a cohort's latest calls are counted, unless somebody asks for all of them. */
const maxCalls = 1000;
const everything = 1_000_000_000;

const spans = [
  { name: "1", label: "24 hours", days: 1 },
  { name: "7", label: "7 days", days: 7 },
  { name: "30", label: "30 days", days: 30 },
  { name: "90", label: "90 days", days: 90 },
  { name: "all", label: "All time", days: undefined },
] as const;

type Span = (typeof spans)[number];

/** How many names are suggested for a comparison; others can be typed. */
const offeredNames = 100;

function askedSpan(request: PageRequest): Span | undefined {
  return spans.find(({ name }) => name === request.query("span"));
}

/**
 * Returns what is wrong with the span, in place of which the last 30 days are shown, and with the
 * name of the cohort to compare with.
 */
export function cohortProblems(request: PageRequest): FieldErrors {
  const span = askedSpan(request) ? undefined : unknownChoice(request.query("span"), "range");
  const [id, other] = [nameOf(request.query("id")), nameOf(otherText(request))];
  const isNoName = other === undefined && otherText(request).trim() !== "";
  return {
    ...(span === undefined ? {} : { span }),
    ...(isNoName
      ? { with: "Expected a name of at most 256 characters, without line breaks." }
      : {}),
    ...(other !== undefined && other === id
      ? { with: "Choose a cohort other than this one." }
      : {}),
  };
}

/** Returns the name of the other cohort as it was typed, or that of the second one checked. */
function otherText(request: PageRequest): string {
  return request.query("with") ?? request.fields.getAll("id")[1] ?? "";
}

/** Loads what the page shows of one cohort, or of two. */
export async function loadCohort(ctx: PageContext, request: PageRequest) {
  const [id, _checked, ...more] = request.fields.getAll("id").map(nameOf);
  if (id === undefined) throw new NotFound();
  const other = nameOf(otherText(request));
  const span = askedSpan(request) ?? spans[2];
  const isWhole = request.query("count") === "all";
  await ctx.flushRecords();
  const ids = other === undefined || other === id ? [id] : [id, other];
  const bounds = {
    since: span.days === undefined ? null : new Date(request.now.getTime() - span.days * dayMs),
    most: isWhole ? everything : maxCalls,
  };
  const { accountId } = request;
  const latest = await ctx.cohorts.readLatest(accountId, ids, bounds);
  const models = ids.length > 1
    ? undefined
    : modelsBody(await ctx.cohorts.readModels(accountId, id, bounds));
  const [first, second] = latest.map(({ sums, cutAt }) => {
    const figures = figuresOf(sums);
    const isAllTime = span.days === undefined && cutAt === null;
    return { sums, figures, body: figuresBody(sums, figures, isAllTime ? "yet" : "in this time") };
  });
  return {
    at: { id, span, other: ids[1], isWhole },
    latest,
    body: first!.body,
    compared: second && {
      body: second.body,
      differences: differencesOf(first!, second),
    },
    models,
    hasMore: more.length > 0,
  };
}

/** A cohort, alone or beside another one. */
export async function cohortPage(
  ctx: PageContext,
  request: PageRequest,
): Promise<Page | Response> {
  // The list's form was sent with no cohort checked.
  if (!request.fields.has("id")) return redirect("/dashboard/cohorts");
  const { at, latest, body, compared, models, hasMore } = await loadCohort(ctx, request);
  const { lines: names } = await ctx.cohorts.list(request.accountId, {
    ...{ from: "", limit: offeredNames, since: request.now, most: 1 },
  });
  const csv = (table: string) => csvAddress(at, table);
  const fieldErrors = cohortProblems(request);
  return {
    title: at.other === undefined ? at.id : `${at.id} and ${at.other}`,
    heading: at.other === undefined
      ? undefined
      : <Isolated texts={[at.id, at.other]} between="and" />,
    section: "cohorts",
    tabs: spanTabs(at),
    body: (
      <>
        <IgnoredValue problem={fieldErrors.span} shown="The last 30 days are shown." />
        {hasMore
          ? (
            <p class="notice notice-plain">
              Only two cohorts can be compared: the first two selected are shown.
            </p>
          )
          : null}
        <CompareForm
          at={at}
          shown={{ values: { with: [at.other ?? otherText(request)] }, fieldErrors }}
          names={names.map(({ cohortId }) => cohortId).filter((name) => name !== at.id)}
        />
        <CutNotices latest={latest} at={at} />
        {[body, compared?.body].map((one) =>
          one && (compared || !isEmpty(one))
            ? <Warnings about={[{ ...one, name: one.cohort_id }]} />
            : null
        )}
        {compared
          ? (
            <CohortComparison
              one={body}
              other={compared.body}
              differences={compared.differences}
              csv={csv("comparison")}
            />
          )
          : <Figures body={body} at={at} csv={csv("outcomes")} />}
        {models
          ? <ModelComparison models={models} csv={csv("models")} vendors={ctx.vendorNames} />
          : null}
      </>
    ),
  };
}

interface At {
  id: string;
  span: Span;
  other: string | undefined;
  /** Whether every call is counted. */
  isWhole: boolean;
}

function csvAddress({ id, span, other, isWhole }: At, table: string): string {
  const query = { id, span: span.name, ...(other === undefined ? {} : { with: other }), table };
  return `/dashboard/cohorts/show/csv?${new URLSearchParams({
    ...query,
    ...(isWhole ? { count: "all" } : {}),
  })}`;
}

function nameOf(text: string | undefined): string | undefined {
  const read = cohortIdSchema.safeParse(text);
  return read.success ? read.data : undefined;
}

function spanTabs({ id, span, other }: At) {
  const tabs = spans.map(({ name, label }) => (
    { name, title: label, href: cohortAddress(id, { with: other, span: name }) }
  ));
  return <Tabs label="Time" tabs={tabs} current={span.name} />;
}

/** Says how many of a cohort's calls are counted, unless all of them are. */
export function cutText({ sums, cutAt }: LatestSums): string | undefined {
  return cutAt === null
    ? undefined
    : `the latest ${count(sums.interactions)} calls are counted, with the outcomes since then (${
      exactTime(cutAt)
    }).`;
}

/** Says how many calls are counted, for cohorts of which not all are. */
function CutNotices({ latest, at }: { latest: readonly LatestSums[]; at: At }) {
  const cut = latest.flatMap((one) => {
    const text = cutText(one);
    return text === undefined ? [] : [`${one.sums.cohortId}: ${text}`];
  });
  if (cut.length === 0) return null;
  const address = cohortAddress(at.id, { with: at.other, span: at.span.name });
  return (
    <div class="notice notice-plain">
      {cut.map((text) => <p>{text}</p>)}
      <p>
        <a href={`${address}&count=all`}>Count every call</a>, which may take some seconds.
      </p>
    </div>
  );
}

type Body = ReturnType<typeof figuresBody>;

/** Whether the page has nothing to show of the cohort, and says so instead. */
function isEmpty({ interactions, conversions }: Body): boolean {
  return interactions === 0 && conversions.length === 0;
}

function Figures({ body, at, csv }: { body: Body; at: At; csv: string }) {
  if (isEmpty(body)) {
    return (
      <Empty title="No calls in this time">
        <p>
          {at.span.days === undefined
            ? "No call or outcome has named this cohort yet."
            : "Choose a longer time, or check that your prompts name the cohort exactly like this."}
        </p>
      </Empty>
    );
  }
  return (
    <>
      <div class="tiles">
        <Tile name="Calls" value={count(body.interactions)}>
          {`${count(body.completed)} completed`}
        </Tile>
        <Tile name="Cost" value={usdText(body.cost_usd)}>
          {body.unknown_cost_interactions === 0
            ? "All prices known"
            : `${counted(body.unknown_cost_interactions, "call")} without a price`}
        </Tile>
        <Tile name="Cost per call" value={money(body.cost_per_interaction_usd.mean)}>
          {moneyRange(body.cost_per_interaction_usd)}
        </Tile>
        <Tile name="Conversions" value={count(body.conversions_total)}>
          {body.conversions_per_interaction
            ? `${count(body.conversions_per_interaction.rate)} per call`
            : "–"}
        </Tile>
        <Tile name="Cost per conversion" value={money(body.cost_per_conversion_usd)}>
          {moneyRange(body.cost_per_conversion_95_usd)}
        </Tile>
        <Tile name="Revenue" value={money(body.revenue_usd)}>
          {body.revenue_per_dollar === null
            ? "None posted"
            : `${dollars(body.revenue_per_dollar)} per dollar of cost`}
        </Tile>
        <Tile
          name="Tokens per call"
          value={`${plain(body.input_tokens_per_interaction.mean)} in`}
        >
          {`${plain(body.output_tokens_per_interaction.mean)} out`}
        </Tile>
        <Tile name="Latency, median" value={time(body.latency_ms.p50)}>
          {`95th percentile ${time(body.latency_ms.p95)}`}
        </Tile>
      </div>
      <Outcomes body={body} csv={csv} />
    </>
  );
}

function Outcomes({ body: { conversions }, csv }: { body: Body; csv: string }) {
  if (conversions.length === 0) return null;
  return (
    <>
      <h2>Outcomes</h2>
      <Table label="Outcomes" head={outcomeHead} csv={csv}>
        {conversions.map(({ type, label, count: items, value }) => (
          <tr>
            <td class="name">{type}</td>
            <td>{label ?? <span class="muted">–</span>}</td>
            <td class="number">{count(items)}</td>
            <td class="number">
              {type === "revenue" ? usd(BigInt(Math.round(value * 1e9))) : count(value)}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

const outcomeHead = ["Type", "Label", numberColumn("Items"), numberColumn("Value")];

function CompareForm(
  { at, shown, names }: { at: At; shown: Shown; names: readonly string[] },
) {
  return (
    <form method="get" action="/dashboard/cohorts/show" class="panel inline" autocomplete="off">
      <input type="hidden" name="id" value={at.id} />
      <input type="hidden" name="span" value={at.span.name} />
      <TextField
        {...shown}
        id="with"
        label="Compare with"
        placeholder="Name of another cohort"
        list="cohort-names"
        required
      />
      <datalist id="cohort-names">
        {names.map((name) => <option value={name}></option>)}
      </datalist>
      <button type="submit" class="button">Compare</button>
      {at.other === undefined
        ? null
        : <a class="button" href={cohortAddress(at.id, { span: at.span.name })}>Stop comparing</a>}
    </form>
  );
}

function money(amount: string | null): string {
  return amount === null ? "–" : usdText(amount);
}

function moneyRange(range: { low95: string | null; high95: string | null } | null): string {
  if (!range || range.low95 === null || range.high95 === null) return "No interval";
  return `95 %: ${usdText(range.low95)} – ${usdText(range.high95)}`;
}

function plain(value: number | null): string {
  return value === null ? "–" : count(Math.round(value));
}

function time(ms: number | null): string {
  return ms === null ? "–" : duration(ms);
}

/** Returns the address of a cohort's page, with its name in the query: it may contain slashes. */
export function cohortAddress(
  id: string,
  more: { with?: string | undefined; span?: string | undefined } = {},
): string {
  const query = new URLSearchParams({ id });
  if (more.with !== undefined) query.set("with", more.with);
  if (more.span !== undefined) query.set("span", more.span);
  return `/dashboard/cohorts/show?${query}`;
}
