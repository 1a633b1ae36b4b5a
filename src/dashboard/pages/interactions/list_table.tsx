import { endings, latencyText } from "./endings.ts";
import type { InteractionSummary, ListPosition } from "../../../shared/interaction.ts";
import { Badge, Empty, Isolated, LinkLine, Table, Time } from "../../components.tsx";
import { exactTime, nameText, relativeTime } from "../../format.ts";
import { compact, count, counted, duration, usd } from "../../amounts.ts";
import { modelOfCall, vendorName, type VendorNames } from "../../vendor_names.ts";
import type { ShownRows } from "./shown_rows.ts";
import { listPath, type View, viewAddress } from "./view.ts";

const head = [
  { title: "Time (UTC)", class: "col-time" },
  { title: "Status", class: "col-status" },
  { title: "Model", class: "col-model" },
  { title: "App / flow", class: "col-app" },
  { title: "User / session", class: "col-user" },
  { title: "Tokens", class: "col-tokens number" },
  { title: "Cost", class: "col-cost number" },
  { title: "Latency", class: "col-latency number" },
];

/** The table of a page with links to the next pages. */
export function InteractionTable(
  { view, shown, now, vendors, mayCreateKeys }: {
    view: View;
    shown: ShownRows;
    now: Date;
    vendors: VendorNames;
    mayCreateKeys: boolean;
  },
) {
  const isEmpty = shown.rows.length === 0 && shown.searched === undefined;
  // Only a page that begins at the newest row, and didn't take a long search, is kept live.
  const isLive = shown.isFirst && view.query.search === undefined &&
    shown.searched === undefined;
  return (
    <div class="calls" {...(isLive ? { "data-live": liveAddress(view) } : {})}>
      {isEmpty ? <NoRows {...{ view, mayCreateKeys }} isFirst={shown.isFirst} /> : null}
      <div class={shown.rows.length === 0 ? "calls-empty" : ""}>
        <Table label="Interactions" head={head}>
          <Rows rows={shown.rows} now={now} vendors={vendors} />
        </Table>
      </div>
      <Searched shown={shown} />
      <Pager view={view} shown={shown} />
    </div>
  );
}

/** A table of some calls, without links to further pages. */
export function CallTable({ label, ...props }: RowsProps & { label: string }) {
  return (
    <div class="calls">
      <Table label={label} head={head}>
        <Rows {...props} />
      </Table>
    </div>
  );
}

interface RowsProps {
  rows: readonly InteractionSummary[];
  now: Date;
  vendors: VendorNames;
}

/** Only the rows, as the script inserts them. */
export function Rows({ rows, ...props }: RowsProps) {
  return <>{rows.map((row) => <Row row={row} {...props} />)}</>;
}

function Row({ row, now, vendors }: Omit<RowsProps, "rows"> & { row: InteractionSummary }) {
  const vendor = vendorName(vendors, row.vendor);
  const model = modelOfCall(vendors, row);
  const { label, tone, meaning } = endings[row.status];
  const status = row.status === "failed" && row.httpStatus !== null
    ? `${label} ${row.httpStatus}`
    : label;
  return (
    <tr data-id={row.transactionId}>
      <td class="nowrap">
        <a class="row-link" href={`${listPath}/${row.transactionId}`}>
          <RowTime at={row.createdAt} now={now} />
          <span class="visually-hidden">
            {`, ${exactTime(row.createdAt)}, ${model}`}
          </span>
        </a>
      </td>
      <td title={row.errorCode ?? meaning}>
        <Badge tone={tone}>{status}</Badge>
      </td>
      <td title={model}>
        <span class="muted">{`${vendor}/`}</span>
        {row.model}
      </td>
      <Names names={[row.app, row.flow]} />
      <Names names={[row.userId, row.sessionId]} />
      <Tokens row={row} />
      <td class="number">
        {row.costNanos === null
          ? <span title="No price is known" class="muted">–</span>
          : usd(row.costNanos)}
      </td>
      <td class="number" title="To the first token and to the end">
        {row.timeToFirstTokenMs === null || !row.stream
          ? null
          : <span class="muted">{`${duration(row.timeToFirstTokenMs)} / `}</span>}
        {latencyText(row)}
      </td>
    </tr>
  );
}

/** Shortens large figures, which the column would cut off; the tooltip has them in full. */
function Tokens({ row: { inputTokens, outputTokens } }: { row: InteractionSummary }) {
  if (inputTokens === null && outputTokens === null) {
    return (
      <td class="number">
        <Nothing />
      </td>
    );
  }
  const [tokensIn, tokensOut] = [inputTokens ?? 0, outputTokens ?? 0];
  const short = (tokens: number) => tokens < 10_000 ? count(tokens) : compact(tokens);
  return (
    <td class="number" title={`${counted(tokensIn, "token")} in, ${count(tokensOut)} out`}>
      {`${short(tokensIn)} / ${short(tokensOut)}`}
    </td>
  );
}

/** Shows the time of day for calls of the last hour: `just now` would hide their order. */
function RowTime({ at, now }: { at: Date; now: Date }) {
  if (now.getTime() - at.getTime() >= 3_600_000) return <Time at={at} now={now} />;
  return (
    <time datetime={at.toISOString()} title={`${relativeTime(at, now)}, ${exactTime(at)}`}>
      {at.toISOString().slice(11, 19)}
    </time>
  );
}

/** Names that the column may cut off; the tooltip has them in full. */
function Names({ names }: { names: readonly (string | null)[] }) {
  const texts = names.filter((one) => one !== null).map(nameText);
  if (texts.length === 0) {
    return (
      <td>
        <Nothing />
      </td>
    );
  }
  return (
    <td title={texts.join(" / ")}>
      <Isolated texts={texts} between="/" />
    </td>
  );
}

function Nothing() {
  return <span class="muted">–</span>;
}

function liveAddress(view: View): string {
  return viewAddress(`${listPath}/newest`, view.fields);
}

function NoRows(
  { view, isFirst, mayCreateKeys }: { view: View; isFirst: boolean; mayCreateKeys: boolean },
) {
  if (!isFirst) {
    return (
      <Empty title="No older calls">
        <p>You have reached the end.</p>
      </Empty>
    );
  }
  if (view.chips.length > 0) {
    return (
      <Empty title="Nothing matches">
        <p>No call matches all filters. Remove one, or choose a longer time.</p>
        <LinkLine href={listPath}>Clear all filters</LinkLine>
      </Empty>
    );
  }
  return (
    <Empty title="No calls yet">
      <p>Calls made with your keys appear here automatically.</p>
      {mayCreateKeys
        ? <LinkLine href="/dashboard/keys/new" primary>Create API Key</LinkLine>
        : null}
    </Empty>
  );
}

function Searched({ shown: { searched, rows } }: { shown: ShownRows }) {
  if (searched === undefined) return null;
  const found = rows.length === 0 ? "Nothing found so far" : `${rows.length} found so far`;
  const { backTo, upTo } = searched;
  const to = backTo ? `back to ${exactTime(backTo)}` : `up to ${exactTime(upTo)}`;
  return <p class="looked-to" role="status">{`${found}: calls ${to} were searched.`}</p>;
}

function Pager({ view, shown }: { view: View; shown: ShownRows }) {
  const { older, newer, isFirst, searched } = shown;
  if (isFirst && older === undefined) return null;
  const to = (more: Record<string, string>) => viewAddress(listPath, view.fields, more);
  return (
    <nav class="pager" aria-label="Pages">
      {isFirst ? null : <a class="button" href={to({})}>Newest</a>}
      {newer
        ? (
          <a class="button" href={to({ after: positionText(newer) })}>
            {searched?.upTo ? "Search further forward" : "Newer"}
          </a>
        )
        : null}
      {older
        ? (
          <a class="button" href={to({ before: positionText(older) })}>
            {searched?.backTo ? "Search further back" : "Older"}
          </a>
        )
        : null}
    </nav>
  );
}

/** Formats a position as milliseconds since 1970 and the row's id: `1763738400123.0193…`. */
function positionText({ createdAt, transactionId }: ListPosition): string {
  return `${createdAt.getTime()}.${transactionId}`;
}
