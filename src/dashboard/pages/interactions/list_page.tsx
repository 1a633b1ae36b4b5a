import type { InteractionListPage } from "../../../records/interaction_repository.ts";
import type { InteractionSummary, ListPosition } from "../../../shared/interaction.ts";
import { sha256Hex } from "../../../base/hash.ts";
import {
  htmlText,
  type PageContext,
  type PageRequest,
  redirect,
  type Routes,
} from "../../bind.tsx";
import { ExportMenu, FilterForm } from "./filter_form.tsx";
import { counted, usd } from "../../amounts.ts";
import { offeredKeys } from "../../key_field.tsx";
import { namedModel } from "../../named_model.ts";
import { vendorName, type VendorNames } from "../../vendor_names.ts";
import { FoundRequests, lookUpId, searchedId } from "./look_up.tsx";
import { listTabs } from "./refused_page.tsx";
import { InteractionTable, Rows } from "./list_table.tsx";
import { rowsFrom, type ShownRows } from "./shown_rows.ts";
import { listPath, readView, type View, viewAddress } from "./view.ts";

const pageRows = 50;

/** The page with the list, and only its first rows and total for the script that refreshes it. */
export function interactionListRoutes(app: Routes, ctx: PageContext): void {
  app.get(listPath, "viewer", async (request) => {
    if (hasBlanks(request.fields)) return toPlainAddress(request);
    const { vendorNames: vendors } = ctx;
    const named = await namedModel(ctx, request.accountId, {
      model: request.fields.getAll("model").length === 1 ? request.query("model") : undefined,
      vendor: request.query("vendor"),
    });
    if (named) return redirect(viewAddress(listPath, request.fields, named));
    const { accountId, fields } = request;
    const view = viewOf(request, await ctx.keys.names(accountId, fields.getAll("key")), vendors);
    const [keys, shown, totals, found] = await Promise.all([
      offeredKeys(ctx, accountId),
      readRows(ctx, request, view),
      readTotals(ctx, request, view),
      lookUpId(ctx, request),
    ]);
    const isFound = found !== undefined && found.refused.length + found.calls.length > 0;
    return {
      title: "Interactions",
      section: "interactions",
      lead: "Every call to a vendor, newest first.",
      action: <Actions {...{ view, request }} />,
      tabs: listTabs("calls"),
      scripts: ["interactions.js"],
      body: (
        <>
          <FilterForm
            {...{ view, vendors, keys }}
            seesPayloads={request.seesPayloads}
            searched={searchedId(request)}
          />
          {isFound ? <FoundRequests {...{ found, vendors }} now={request.now} /> : null}
          {found && !isFound && !request.seesPayloads
            ? <p class="notice notice-plain" role="status">{noneHasId}</p>
            : null}
          {isFound && shown.rows.length === 0 ? null : (
            <>
              {isFound ? <h2>All calls of this view</h2> : null}
              {totals && <ListTotal totals={totals} />}
              <InteractionTable
                {...{ view, shown, vendors }}
                now={request.now}
                mayCreateKeys={request.may("member")}
              />
            </>
          )}
        </>
      ),
    };
  });
  app.get(`${listPath}/newest`, "viewer", async (request) => {
    const view = viewOf(request);
    await ctx.interactions.flushRecords();
    const { rows } = await readFrom(ctx, request, view, undefined, "newest");
    return await newestRows(ctx, rows, request, view);
  });
}

/** What can be done with the calls of a view. */
function Actions({ view, request }: { view: View; request: PageRequest }) {
  const [user, ...others] = view.query.filters?.user_id ?? [];
  const mayDelete = user !== undefined && others.length === 0 && request.may("owner");
  return (
    <div class="buttons">
      <ExportMenu view={view} isWhole={request.may("member")} />
      {mayDelete && (
        <a
          class="button button-danger"
          href={viewAddress("/dashboard/deletion/new", new URLSearchParams(), { user_id: user })}
        >
          Delete this user's data
        </a>
      )}
    </div>
  );
}

const noneHasId =
  "Neither a call nor a refused request has this id. A request without a valid key is only in the service's log.";

/** A total covers at most so many calls, so that pages don't get slower as the account grows. */
const maxTotalled = 5_000;

type Totals = Awaited<ReturnType<PageContext["interactions"]["interactions"]["totals"]>>;

/**
 * Reads the totals of a filtered list. Undefined without filters, and for a search or a range of
 * cost or latency, which would read too many rows.
 */
async function readTotals(
  ctx: PageContext,
  request: PageRequest,
  { query, chips }: View,
): Promise<Totals | undefined> {
  const { search, costNanos, latencyMs } = query;
  const isPlain = search === undefined && costNanos === undefined && latencyMs === undefined;
  if (chips.length === 0 || !isPlain) return undefined;
  await ctx.interactions.flushRecords();
  return await ctx.interactions.interactions.totals({
    ...query,
    accountId: request.accountId,
    order: "newest",
    limit: maxTotalled,
  });
}

function ListTotal({ totals: { calls, costNanos, isAll } }: { totals: Totals }) {
  // A placeholder: the script replaces it as soon as there are calls.
  if (calls === 0) return <p class="list-total" hidden></p>;
  return (
    <p class="list-total">
      {isAll ? null : "The newest "}
      <strong>{counted(calls, "call")}</strong>, <strong>{usd(costNanos)}</strong>
    </p>
  );
}

/** Whether any field is blank: browsers send the empty fields of a form too. */
function hasBlanks(fields: URLSearchParams): boolean {
  return [...fields.values()].some((value) => value.trim() === "");
}

function toPlainAddress(request: PageRequest): Response {
  const fields = new URLSearchParams(
    [...request.fields].filter(([, value]) => value.trim() !== ""),
  );
  return redirect(viewAddress(listPath, fields));
}

export function viewOf(
  request: PageRequest,
  names: ReadonlyMap<string, string> = new Map(),
  vendors: VendorNames = new Map(),
): View {
  const fields = new URLSearchParams(request.fields);
  // People who may not see prompts must not learn about them by searching, either.
  if (!request.seesPayloads) fields.delete("q");
  return readView(
    fields,
    request.now,
    (filter, value) => {
      if (filter === "vendor") return vendorName(vendors, value);
      return filter === "key" ? names.get(value) ?? value : value;
    },
  );
}

async function readRows(ctx: PageContext, request: PageRequest, view: View): Promise<ShownRows> {
  await ctx.interactions.flushRecords();
  return await rowsFrom((after, order) => readFrom(ctx, request, view, after, order), {
    before: readPosition(request.query("before")),
    // A search only goes back in time.
    after: view.query.search === undefined ? readPosition(request.query("after")) : undefined,
  });
}

async function readFrom(
  ctx: PageContext,
  request: PageRequest,
  view: View,
  after: ListPosition | undefined,
  order: "newest" | "oldest",
): Promise<InteractionListPage> {
  return await ctx.interactions.interactions.page({
    ...view.query,
    accountId: request.accountId,
    order,
    limit: pageRows,
    ...(after ? { after } : {}),
  });
}

function readPosition(text: string | undefined): ListPosition | undefined {
  const [, ms = "", id = ""] = /^(\d{1,14})\.([\w-]{0,100})$/.exec(text ?? "") ?? [];
  return ms === "" ? undefined : { createdAt: new Date(Number(ms)), transactionId: id };
}

/** Answers with the list's total and first rows; 304 if the browser has the same already. */
async function newestRows(
  ctx: PageContext,
  rows: readonly InteractionSummary[],
  request: PageRequest,
  view: View,
): Promise<Response> {
  const ids = rows.map(({ transactionId, costNanos }) => `${transactionId} ${costNanos}`);
  // The texts for how long ago a call was change every minute.
  const minute = Math.floor(request.now.getTime() / 60_000);
  const etag = `"${sha256Hex([minute, ...ids].join("\n")).slice(0, 16)}"`;
  const headers = { "cache-control": "no-store", etag };
  if (request.header("if-none-match") === etag) return new Response(null, { status: 304, headers });
  const totals = await readTotals(ctx, request, view);
  const html = (
    <>
      {totals && <ListTotal totals={totals} />}
      <table>
        <tbody>
          <Rows rows={rows} now={request.now} vendors={ctx.vendorNames} />
        </tbody>
      </table>
    </>
  );
  return new Response(await htmlText(html), {
    headers: { ...headers, "content-type": "text/html; charset=utf-8" },
  });
}
