import { pushAll } from "../../../base/lists.ts";
import type { Hono } from "hono";
import type { ExportFormat, ExportSpec } from "../../../exports/export_spec.ts";
import type { ListPosition } from "../../../shared/interaction.ts";
import { callersPatience, pulledStream } from "../../../base/pulled_stream.ts";
import { page, type PageContext, type PageRequest } from "../../bind.tsx";
import { listPath, readView, type View } from "./view.ts";

/** Calls of an export that is narrowed by what exports have no filter for. */
const mostCalls = 10_000;
/** Rows that are looked up at once for it. */
const portionRows = 1000;

/** `/dashboard/interactions/export`: what a view shows, as a file. */
export function interactionExportRoutes(app: Hono, ctx: PageContext): void {
  app.get(
    `${listPath}/export`,
    page(ctx, "member", async (visit) => {
      const format: ExportFormat = visit.query("format") === "csv" ? "csv" : "json";
      const view = readView(visit.fields, visit.now);
      await ctx.interactions.flushRecords();
      const order = await orderOf(ctx, visit, view, format);
      const accountId = visit.session.account.id;
      const bytes = await ctx.interactions.exports.write(accountId, order);
      await visit.record("interactions.exported", format.toUpperCase(), view.fields.toString());
      return new Response(pulledStream(bytes, callersPatience), {
        headers: {
          "content-type": format === "csv"
            ? "text/csv; charset=utf-8; header=present"
            : "application/json",
          "content-disposition": `attachment; filename="interactions-${
            dayOf(visit.now)
          }.${format}"`,
          "cache-control": "no-store",
        },
      });
    }, { ownLinksAt: listPath }),
  );
}

async function orderOf(
  ctx: PageContext,
  visit: PageRequest,
  view: View,
  format: ExportFormat,
): Promise<ExportSpec> {
  const { search, costNanos, latencyMs, filters, start, end } = view.query;
  const span = { ...(start ? { start } : {}), ...(end ? { end } : {}) };
  const plain = { format, tables: ["interactions"] as const, rawCells: false, ...span };
  if (search === undefined && costNanos === undefined && latencyMs === undefined) {
    return { ...plain, filters: filters ?? {} };
  }
  return { ...plain, filters: { transaction_id: await idsOf(ctx, visit, view) } };
}

/** Ids of the newest calls of a view. */
async function idsOf(ctx: PageContext, visit: PageRequest, view: View): Promise<string[]> {
  const ids: string[] = [];
  let after: ListPosition | undefined;
  do {
    const found = await ctx.interactions.interactions.page({
      ...view.query,
      accountId: visit.session.account.id,
      order: "newest",
      limit: portionRows,
      ...(after ? { after } : {}),
    });
    pushAll(ids, found.rows.map(({ transactionId }) => transactionId));
    after = found.next;
  } while (after && ids.length < mostCalls);
  return ids.slice(0, mostCalls);
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
