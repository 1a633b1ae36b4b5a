import { callerUnreadTimeout, pulledStream } from "../../../base/pulled_stream.ts";
import type { ExportJob, ExportState } from "../../../exports/export_job.ts";
import { exportMediaType } from "../../../exports/export_spec.ts";
import { bytes } from "../../amounts.ts";
import {
  NotFound,
  orNotFound,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import {
  actionsColumn,
  Badge,
  Empty,
  numberColumn,
  RowLink,
  Table,
  TimeCell,
  type Tone,
} from "../../components.tsx";
import { confirmationRoutes } from "../../confirmation.tsx";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { day } from "../../format.ts";
import { isOpen, Live } from "../../live.tsx";
import { newExportRoutes, tableNames } from "./new_export.tsx";

const address = "/dashboard/exports";

/** Pages about exports: files of records are requested, written in the background and fetched. */
export function exportRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", (request) => listPage(ctx, request));
  newExportRoutes(app, ctx);
  app.get(
    `${address}/csv`,
    "viewer",
    async (request) => csvFile("exports", columns, await ctx.exports.list(request.accountId)),
  );
  app.get(`${address}/:id/file`, "member", (request) => download(ctx, request), {
    ownLinksAt: address,
  });
  confirmationRoutes<ExportJob>(app, {
    ...{ path: `${address}/:id/delete`, back: address, role: "member", section: "exports" },
    title: (job) => isOpen(job) ? "Cancel export" : "Delete export",
    cancel: "Back",
    find: (request) => find(ctx, request),
    consequence: (job) => (
      <p>
        <strong>{describe(job)}</strong>{" "}
        is deleted permanently with its file. The stored records stay: you can request another
        export.
      </p>
    ),
    async act(job, request) {
      const { requestId } = job;
      const note = request.note("export.deleted", describe(job), requestId);
      const text = await ctx.exports.remove(request.accountId, requestId, note)
        ? "The export and its file were deleted."
        : "The export was deleted. Its file can't be removed now; this is tried again every minute.";
      return { to: address, notice: { kind: "done", text } };
    },
  });
}

async function find(ctx: PageContext, request: PageRequest): Promise<ExportJob> {
  const jobs = await ctx.exports.list(request.accountId);
  return orNotFound(jobs.find(({ requestId }) => requestId === request.param("id")));
}

async function download(ctx: PageContext, request: PageRequest): Promise<Response> {
  const found = await find(ctx, request);
  if (found.state !== "ready") throw new NotFound();
  const job = await ctx.exports.ready(request.accountId, found.requestId);
  const { requestId, format, bytesSize } = job;
  // The audit log gets its entry before any data leaves, and before the file is open.
  await request.record("export.downloaded", describe(job), requestId);
  const pieces = await ctx.exports.read(job, 0, bytesSize);
  return new Response(pulledStream(pieces, callerUnreadTimeout), {
    headers: {
      "content-type": exportMediaType(format),
      "content-length": String(bytesSize),
      "content-disposition": `attachment; filename="export-${requestId}.${format}"`,
    },
  });
}

async function listPage(ctx: PageContext, request: PageRequest) {
  const jobs = await ctx.exports.list(request.accountId);
  const create = <a class="button button-primary" href={`${address}/new`}>New export</a>;
  return {
    title: "Exports",
    section: "exports" as const,
    lead: "Interactions and evaluations as files, kept for seven days.",
    action: request.may("member") ? create : null,
    scripts: ["refresh.js" as const],
    body: jobs.length === 0
      ? (
        <Empty title="No exports yet">
          <p>An export writes stored data to one file: JSON, or CSV for a spreadsheet.</p>
          {request.may("member") ? <p>{create}</p> : <p>An owner or member can create one.</p>}
        </Empty>
      )
      : (
        <Live id="exports" on={jobs.some(isOpen)}>
          <Table
            label="Exports"
            head={request.may("member") ? [...head, actionsColumn()] : head}
            csv={`${address}/csv`}
            cards
          >
            {jobs.map((job) => jobLine(job, request))}
          </Table>
        </Live>
      ),
  };
}

const head = [
  "Export",
  "State",
  numberColumn("Size"),
  "Requested",
  "Kept until",
];

const columns: CsvColumns<ExportJob> = {
  export_id: ({ requestId }) => requestId,
  tables: ({ tables }) => tables.join(" "),
  format: ({ format }) => format,
  start: ({ start }) => start ?? null,
  end: ({ end }) => end ?? null,
  state: ({ state }) => state,
  bytes: ({ state, bytesSize }) => state === "ready" ? bytesSize : null,
  created_at: ({ createdAt }) => createdAt,
  kept_until: ({ expiresAt }) => expiresAt,
  filtered_by: ({ filteredBy }) => filteredBy.join(" "),
};

const states: Readonly<Record<ExportState, { label: string; tone: Tone }>> = {
  queued: { label: "Waiting", tone: "neutral" },
  running: { label: "Writing", tone: "warn" },
  ready: { label: "Ready", tone: "good" },
  failed: { label: "Failed", tone: "bad" },
  deleted: { label: "Data erased", tone: "neutral" },
};

function describe({ format, tables, ...narrowed }: ExportJob): string {
  return `${tables.map((table) => tableNames[table]).join(", ")} as ${format.toUpperCase()}, ${
    narrowedText(narrowed)
  }`;
}

/** Returns the days and the filters' columns: without these, files of the same days look alike. */
function narrowedText({ filteredBy, ...span }: Pick<ExportJob, "start" | "end" | "filteredBy">) {
  const by = filteredBy.length === 0 ? "" : `, filtered by ${filteredBy.join(", ")}`;
  return spanText(span) + by;
}

/** Returns the first and the last day, both included, in UTC. */
function spanText({ start, end }: Pick<ExportJob, "start" | "end">): string {
  const last = end && new Date(end.getTime() - 1);
  if (start && last) return day(start) === day(last) ? day(start) : `${day(start)} – ${day(last)}`;
  if (start) return `from ${day(start)}`;
  return last ? `until ${day(last)}` : "all time";
}

function jobLine(job: ExportJob, request: PageRequest) {
  const { state, format, tables } = job;
  const page = `${address}/${job.requestId}`;
  return (
    <tr class={state === "deleted" || state === "failed" ? "faded" : ""}>
      <td class="name">
        <div>{tables.map((table) => tableNames[table]).join(", ")}</div>
        <span class="muted">{`${format.toUpperCase()} · ${narrowedText(job)}`}</span>
      </td>
      <td class="nowrap" data-label="State">
        <Badge tone={states[state].tone}>{states[state].label}</Badge>
        {isOpen(job) ? <progress aria-label="The file is being written"></progress> : null}
      </td>
      <td class="number" data-label="Size">
        {state === "ready" ? bytes(job.bytesSize) : <span class="muted">–</span>}
      </td>
      <TimeCell label="Requested" at={job.createdAt} now={request.now} />
      <TimeCell label="Kept until" at={job.expiresAt} now={request.now} />
      {request.may("member")
        ? (
          <td class="actions">
            {state === "ready"
              ? <RowLink href={`${page}/file`} text="Download" of={describe(job)} download />
              : null}
            <RowLink
              href={`${page}/delete`}
              text={isOpen(job) ? "Cancel" : "Delete"}
              of={describe(job)}
              danger
            />
          </td>
        )
        : null}
    </tr>
  );
}
