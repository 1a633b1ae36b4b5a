import { pushAll } from "../../../base/lists.ts";
import {
  columnsWithoutPayloads,
  exportMediaType,
  type ExportSpec,
} from "../../../exports/export_spec.ts";
import type { ListPosition } from "../../../shared/interaction.ts";
import { callerUnreadTimeout, pulledStream } from "../../../base/pulled_stream.ts";
import {
  NotFound,
  type PageContext,
  type PageRequest,
  redirect,
  type Routes,
} from "../../bind.tsx";
import { viewOf } from "./list_page.tsx";
import { listPath, readView, type View, viewAddress } from "./view.ts";

/** The most calls in an export of a view that is narrowed in a way that exports can't filter by. */
const maxCalls = 10_000;
/** How many rows are looked up at a time for such an export. */
const chunkRows = 1000;

/** Exports a view's calls: `…/export` with contents, `…/csv` without them, for viewers too. */
export function interactionExportRoutes(app: Routes, ctx: PageContext): void {
  app.get(`${listPath}/export`, "member", async (request) => {
    const format = request.query("format") || "json";
    if (format !== "csv" && format !== "json") throw new NotFound();
    const view = readView(request.fields, request.now);
    if (view.unused.size > 0) return toProblems(request);
    const answer = await fileOf(ctx, request, view, { format });
    await request.record("interactions.exported", format.toUpperCase(), describe(view.fields));
    return answer;
  }, { ownLinksAt: listPath });
  app.get(`${listPath}/csv`, "viewer", async (request) => {
    const view = viewOf(request);
    if (view.unused.size > 0) return toProblems(request);
    const columns = columnsWithoutPayloads("interactions");
    return await fileOf(ctx, request, view, { format: "csv", columns });
  });
}

/** A file that ignores a filter would pass for the filtered one; the list says what is wrong. */
function toProblems({ fields }: PageRequest): Response {
  return redirect(viewAddress(listPath, fields));
}

/** Fields whose values reveal neither people nor contents. */
const spanFields: ReadonlySet<string> = new Set(["range", "from", "to"]);

/**
 * Says for the audit log which filters the view had. The log outlives end users' data and viewers
 * read it, so it gets no searched words and no names: only the fields that were set.
 */
function describe(fields: URLSearchParams): string {
  const parts = [...fields].map(([name, value]) =>
    spanFields.has(name) ? `${name} ${value}` : name
  );
  return parts.length === 0 ? "all calls" : `by ${[...new Set(parts)].join(", ")}`;
}

async function fileOf(
  ctx: PageContext,
  request: PageRequest,
  view: View,
  form: Pick<ExportSpec, "format" | "columns">,
): Promise<Response> {
  await ctx.interactions.flushRecords({ accountId: request.accountId });
  const order = await orderOf(ctx, request, view, form);
  const bytes = await ctx.interactions.exports.write(request.accountId, order);
  const name = `interactions-${dayOf(request.now)}.${form.format}`;
  return new Response(pulledStream(bytes, callerUnreadTimeout), {
    headers: {
      "content-type": exportMediaType(form.format),
      "content-disposition": `attachment; filename="${name}"`,
      "cache-control": "no-store",
    },
  });
}

async function orderOf(
  ctx: PageContext,
  request: PageRequest,
  view: View,
  form: Pick<ExportSpec, "format" | "columns">,
): Promise<ExportSpec> {
  const { search, costNanos, latencyMs, filters, start, end } = view.query;
  const span = { ...(start ? { start } : {}), ...(end ? { end } : {}) };
  const plain = { ...form, tables: ["interactions"] as const, rawCells: false, ...span };
  if (search === undefined && costNanos === undefined && latencyMs === undefined) {
    return { ...plain, filters: filters ?? {} };
  }
  return { ...plain, filters: { transaction_id: await idsOf(ctx, request, view) } };
}

async function idsOf(ctx: PageContext, request: PageRequest, view: View): Promise<string[]> {
  const ids: string[] = [];
  let after: ListPosition | undefined;
  do {
    const found = await ctx.interactions.interactions.page({
      ...view.query,
      accountId: request.accountId,
      order: "newest",
      limit: chunkRows,
      ...(after ? { after } : {}),
    });
    pushAll(ids, found.rows.map(({ transactionId }) => transactionId));
    after = found.next;
  } while (after && ids.length < maxCalls);
  return ids.slice(0, maxCalls);
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
