import { errors } from "../../../../contracts/kernel/errors.ts";
import type { RefusalRecorder } from "../../../refusals/refusal_recorder.ts";
import {
  refusalDays,
  type RefusalFilter,
  type RefusalPageQuery,
  type RefusalRow,
  type RefusalSpan,
  type RefusalStore,
} from "../../../refusals/refusal.ts";
import { count, counted } from "../../amounts.ts";
import { type PageContext, type PageRequest, redirect, type Routes } from "../../bind.tsx";
import { Empty, IgnoredValue, numberColumn, Older, Table, Tabs, Time } from "../../components.tsx";
import { allPages } from "../../../base/all_pages.ts";
import { type CsvColumns, csvFile, mapPages } from "../../csv.ts";
import { readTimeCursor, timeCursor } from "../../time_cursor.ts";
import { unknownChoice } from "../../format.ts";
import { FilterChip } from "./filter_form.tsx";
import { listPath, viewAddress } from "./view.ts";

export interface RefusalDeps {
  refusalStore: Pick<RefusalStore, "list" | "counts" | "total" | "steps">;
  refusalRecorder: Pick<RefusalRecorder, "flush">;
}

export const refusedPath = `${listPath}/refused`;

const tabs = [
  { name: "calls", title: "Calls", href: listPath },
  { name: "refused", title: "Refused", href: refusedPath },
];

/** Links between the two lists: calls that reached a vendor, and refused requests. */
export function listTabs(current: "calls" | "refused") {
  return <Tabs label="Interactions" tabs={tabs} current={current} />;
}

const pageRows = 50;
const shownValues = 8;
const hourMs = 3_600_000;

const spans = [
  ["24h", "Last 24 hours", 24],
  ["7d", "Last 7 days", 7 * 24],
  ["30d", `Last ${refusalDays} days`, refusalDays * 24],
] as const;

/** The page of requests that were refused before a vendor was asked: why, and with which key. */
export function refusedRoutes(app: Routes, ctx: PageContext): void {
  app.get(refusedPath, "viewer", (request) => refusedPage(ctx, request));
  app.get(`${refusedPath}/csv`, "viewer", (request) => refusedCsv(ctx, request));
}

/** Answers with the view's listed requests as CSV, or with `counts` how many had each value. */
async function refusedCsv(ctx: PageContext, request: PageRequest): Promise<Response> {
  const view = readView(request);
  const { counted, countsProblem } = askedCounts(request);
  // There are no counts for a single request; those of all would pass for its own.
  const isCountOfOne = counted !== undefined && view.filter.requestId !== undefined;
  if (view.problem !== undefined || countsProblem !== undefined || isCountOfOne) {
    return redirect(viewAddress(refusedPath, request.fields));
  }
  const { refusalStore, refusalRecorder } = ctx.refusals;
  await refusalRecorder.flush();
  if (counted === undefined) {
    const query = listedQuery(view, request.now);
    const read = (after: RefusalRow | undefined, limit: number) =>
      refusalStore.list({ ...query, limit, ...(after ? { after } : {}) });
    const withNames = mapPages(allPages(read), async (rows) => {
      const names = await ctx.keys.names(view.accountId, rows.map(({ apiKeyId }) => apiKeyId));
      return rows.map((row) => ({ ...row, keyName: names.get(row.apiKeyId) ?? null }));
    });
    return csvFile("refused-requests", refusedColumns, withNames);
  }
  const { name, dimension } = counted;
  const counts = await refusalStore.counts(queryOf(view), dimension, maxValues);
  const keyIds = name === "key" ? counts.map(({ value }) => value) : [];
  const names = await ctx.keys.names(view.accountId, keyIds);
  return csvFile(`refused-by-${name}`, {
    [name]: ({ value }: RefusalValue) => value,
    ...(name === "key" ? { name: ({ value }: RefusalValue) => names.get(value) ?? null } : {}),
    refused: ({ refused }) => refused,
  }, counts);
}

/** Reads by what a file counts; the page, which an unknown one leads to, has all counts anyway. */
function askedCounts(request: PageRequest) {
  const asked = request.query("counts");
  const counted = dimensions.find(({ name }) => name === asked);
  return { counted, countsProblem: counted ? undefined : unknownChoice(asked, "breakdown") };
}

/** The most values in one download; nobody needs more. */
const maxValues = 100_000;

type RefusalValue = Awaited<ReturnType<RefusalStore["counts"]>>[number];

const refusedColumns: CsvColumns<RefusalRow & { keyName: string | null }> = {
  created_at: ({ at }) => at,
  code: ({ code }) => code,
  http_status: ({ httpStatus }) => httpStatus,
  field: ({ param }) => param ?? null,
  api_key_id: ({ apiKeyId }) => apiKeyId,
  api_key: ({ keyName }) => keyName,
  model: ({ model }) => model ?? null,
  endpoint: ({ endpoint }) => endpoint,
  request_id: ({ requestId }) => requestId,
};

/** The columns that refused requests are counted by. */
const dimensions = [
  { name: "code", dimension: "code", label: "By code" },
  { name: "key", dimension: "api_key_id", label: "By API key" },
  { name: "model", dimension: "model", label: "By model" },
] as const;

/** The address's fields and the filters that they set. */
const fields = [
  { name: "request", filter: "requestId", label: "X-Request-ID" },
  { name: "code", filter: "code", label: "Code" },
  { name: "key", filter: "apiKeyId", label: "API key" },
  { name: "model", filter: "model", label: "Model" },
] as const;

type ViewFilter = RefusalFilter & Pick<RefusalPageQuery, "requestId">;

interface RefusedView extends RefusalSpan {
  range: string;
  /** What is wrong with the address's range; seven days are shown then. */
  problem: string | undefined;
  filter: ViewFilter;
  /** The address's fields, read and cleaned. */
  params: URLSearchParams;
}

function readView(request: PageRequest): RefusedView {
  const asked = request.query("range");
  const existing = spans.find(([value]) => value === asked);
  const [range, , hours] = existing ?? spans[1];
  const filter: ViewFilter = {};
  const params = new URLSearchParams({ range });
  for (const { name, filter: key } of fields) {
    const text = request.query(name);
    // A model's name keeps its blanks: they may be why the request was refused.
    const value = (name === "model" ? text : text?.trim())?.slice(0, 200);
    // An empty field sets no filter, except for requests without a model (`none`).
    if (value === undefined || value.includes("\0")) continue;
    if (value === "" && (name !== "model" || !request.fields.has("none"))) continue;
    filter[key] = value;
    params.set(name, value);
  }
  if (filter.model === "") params.set("none", "");
  const span = spanOf(request.now, hours);
  const problem = existing ? undefined : unknownChoice(asked, "range");
  return { accountId: request.accountId, ...span, range, problem, filter, params };
}

function queryOf({ accountId, from, to, filter }: RefusedView) {
  return { accountId, from, to, ...filter };
}

/** Returns the list's query; an id is looked up in all retained hours, whatever span is shown. */
function listedQuery(view: RefusedView, now: Date) {
  return { ...queryOf(view), ...(view.filter.requestId === undefined ? {} : retainedSpan(now)) };
}

/** Returns the span for which refused requests are kept, in whole hours. */
export function retainedSpan(now: Date): Pick<RefusalSpan, "from" | "to"> {
  return spanOf(now, refusalDays * 24);
}

function spanOf(now: Date, hours: number) {
  const to = (Math.floor(now.getTime() / hourMs) + 1) * hourMs;
  return { from: new Date(to - hours * hourMs), to: new Date(to) };
}

async function refusedPage(ctx: PageContext, request: PageRequest) {
  const view = readView(request);
  const { refusalStore, refusalRecorder } = ctx.refusals;
  await refusalRecorder.flush();
  const query = queryOf(view);
  const cursor = readTimeCursor(request.query("after"));
  const after = cursor && /^\d{1,18}$/.test(cursor.id) ? cursor : undefined;
  const isLookUp = view.filter.requestId !== undefined;
  const more = { limit: pageRows + 1, ...(after ? { after } : {}) };
  const [rows, total, ...counts] = await Promise.all([
    refusalStore.list({ ...listedQuery(view, request.now), ...more }),
    isLookUp ? 0 : refusalStore.total(query),
    ...dimensions.map(({ dimension }) =>
      isLookUp ? [] : refusalStore.counts(query, dimension, shownValues)
    ),
  ]);
  const shown = rows.slice(0, pageRows);
  const last = rows.length > pageRows ? shown.at(-1) : undefined;
  const keyCounts = counts[dimensions.findIndex(({ name }) => name === "key")] ?? [];
  const names = await ctx.keys.names(view.accountId, [
    ...(view.filter.apiKeyId === undefined ? [] : [view.filter.apiKeyId]),
    ...shown.map(({ apiKeyId }) => apiKeyId),
    ...keyCounts.map(({ value }) => value),
  ]);
  return {
    title: "Interactions",
    section: "interactions" as const,
    lead: `Requests that were refused before a vendor was called. Kept for ${refusalDays} days.`,
    tab: "Refused",
    tabs: listTabs("refused"),
    body: (
      <>
        <IgnoredValue problem={view.problem} shown="The last 7 days are shown." />
        <IgnoredValue
          problem={askedCounts(request).countsProblem}
          shown="Requests are counted by code, key and model."
        />
        <RefusedFilters view={view} names={names} />
        {total === 0 ? null : (
          <>
            <p class="list-total">
              <strong>{counted(total, "refused request")}</strong>{" "}
              <span class="muted">no charge, nothing sent to a vendor</span>
            </p>
            <div class="refused-counts">
              {dimensions.map((one, at) => (
                <Counts view={view} {...one} rows={counts[at]!} names={names} />
              ))}
            </div>
          </>
        )}
        {shown.length === 0 ? <Nothing view={view} /> : (
          <RefusedTable
            rows={shown}
            names={names}
            now={request.now}
            csv={viewAddress(`${refusedPath}/csv`, view.params)}
          />
        )}
        <Older
          href={last &&
            viewAddress(refusedPath, view.params, { after: timeCursor(last.at, last.id) })}
        />
      </>
    ),
  };
}

const endpointColumn = { title: "Endpoint", class: "fold" };
const head = ["Time", "Code", "Field", "API key", "Model", endpointColumn, "X-Request-ID"];

/** A table of refused requests: why they were refused, and with which key. */
export function RefusedTable({ rows, names, now, csv }: {
  rows: readonly RefusalRow[];
  names: ReadonlyMap<string, string>;
  now: Date;
  csv: string;
}) {
  return (
    <>
      <Table label="Refused requests" head={head} csv={csv}>
        {rows.map((row) => <RefusedLine row={row} names={names} now={now} />)}
      </Table>
      <Codes codes={[...new Set(rows.map(({ code }) => code))].sort()} />
    </>
  );
}

/** What the codes of a list mean: the table has no room for it, and no finger reaches a tooltip. */
function Codes({ codes }: { codes: readonly RefusalRow["code"][] }) {
  return (
    <div class="hint">
      {codes.map((code) => (
        <p>
          <code>{code}</code> {errors[code]?.message}
        </p>
      ))}
      <p>The answer that the caller got also says what was expected.</p>
    </div>
  );
}

function RefusedLine(
  { row, names, now }: { row: RefusalRow; names: ReadonlyMap<string, string>; now: Date },
) {
  return (
    <tr>
      <td class="nowrap">
        <Time at={row.at} now={now} />
      </td>
      <td>
        <code>{breakingBetweenWords(row.code)}</code> <span class="muted">{row.httpStatus}</span>
      </td>
      <td class="breaks">{row.param === undefined ? <Dash /> : <code>{row.param}</code>}</td>
      <td class="breaks">{names.get(row.apiKeyId) ?? row.apiKeyId}</td>
      <td class="breaks breaks-late">{row.model ?? <Dash />}</td>
      <td class="breaks breaks-late fold">{breakingBetweenWords(row.endpoint)}</td>
      <td class="breaks breaks-late">
        <code>{row.requestId}</code>
      </td>
    </tr>
  );
}

/** A path or code that doesn't fit on one line continues on the next, but not within a word. */
function breakingBetweenWords(text: string) {
  return text.split(/(?<=[/_])/).map((part) => (
    <>
      {part}
      <wbr />
    </>
  ));
}

function Dash() {
  return <span class="muted">–</span>;
}

function RefusedFilters(
  { view, names }: { view: RefusedView; names: ReadonlyMap<string, string> },
) {
  return (
    <search class="filters">
      <form method="get" action={refusedPath} class="filter-form" autocomplete="off">
        <div class="search-field">
          <label class="visually-hidden" for="refused-request">X-Request-ID</label>
          <input
            type="search"
            id="refused-request"
            name="request"
            value={view.filter.requestId ?? ""}
            placeholder="X-Request-ID of the answer"
            autocomplete="off"
            maxlength={200}
          />
        </div>
        <div class="choice-field">
          <label class="visually-hidden" for="refused-range">Time</label>
          <select id="refused-range" name="range">
            {spans.map(([value, label]) => (
              <option value={value} selected={value === view.range}>{label}</option>
            ))}
          </select>
        </div>
        {fields.filter(({ name, filter }) => name !== "request" && view.filter[filter])
          .map(({ name, filter }) => (
            <input
              type="hidden"
              name={name}
              value={view.filter[filter]}
            />
          ))}
        <button type="submit" class="button">Search</button>
      </form>
      <ul class="chips" aria-label="Active filters">
        {fields.filter(({ filter }) => view.filter[filter] !== undefined)
          .map(({ name, filter, label }) => {
            const value = view.filter[filter]!;
            const text = name === "key" ? names.get(value) ?? value : value || "none";
            const rest = viewAddress(refusedPath, without(view.params, name));
            return <FilterChip {...{ label, value: text }} without={rest} />;
          })}
      </ul>
    </search>
  );
}

function without(params: URLSearchParams, name: string): URLSearchParams {
  const rest = new URLSearchParams(params);
  rest.delete(name);
  if (name === "model") rest.delete("none");
  return rest;
}

function Counts({ view, name, label, rows, names }: {
  view: RefusedView;
  name: "code" | "key" | "model";
  label: string;
  rows: readonly RefusalValue[];
  names: ReadonlyMap<string, string>;
}) {
  const nameOf = (value: string) => name === "key" ? names.get(value) ?? value : value;
  const more = (value: string) => ({ [name]: value, ...(value === "" ? { none: "" } : {}) });
  return (
    <Table
      label={label}
      head={[label, numberColumn("Refused")]}
      csv={viewAddress(`${refusedPath}/csv`, view.params, { counts: name })}
    >
      {rows.map(({ value, refused }) => (
        <tr>
          <td class="breaks">
            <a href={viewAddress(refusedPath, view.params, more(value))}>
              {value === "" ? "No model" : nameOf(value)}
            </a>
          </td>
          <td class="number">{count(refused)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Nothing({ view: { filter } }: { view: RefusedView }) {
  if (filter.requestId === undefined) {
    return (
      <Empty title="Nothing was refused">
        <p>
          A request that the gateway itself refuses (a wrong field, a missing scope, no credit, too
          many a minute) is listed here with its code, field, key and model.
        </p>
      </Empty>
    );
  }
  const query = new URLSearchParams({ request: filter.requestId });
  return (
    <Empty title="No refused request has this id">
      <p>
        It may have reached a vendor, or its key was invalid: such requests are only in the
        service's log.
      </p>
      <p>
        <a class="button" href={`${listPath}?${query}`}>Search recorded calls</a>
      </p>
    </Empty>
  );
}
