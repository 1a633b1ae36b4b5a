import type { RefusalRow } from "../../../refusals/refusal.ts";
import type { InteractionSummary } from "../../../shared/interaction.ts";
import type { PageContext, PageRequest } from "../../bind.tsx";
import { counted } from "../../amounts.ts";
import type { VendorNames } from "../../vendor_names.ts";
import { CallTable } from "./list_table.tsx";
import { refusedPath, RefusedTable, retainedSpan } from "./refused_page.tsx";
import { viewAddress } from "./view.ts";

/** The refused requests and calls with an id that somebody searched for. */
export interface FoundById {
  id: string;
  refused: readonly RefusalRow[];
  /** The names of the refused requests' keys. */
  keyNames: ReadonlyMap<string, string>;
  calls: readonly InteractionSummary[];
}

/** The most that are shown of each kind: a repeated id has several. A filtered list has all. */
const maxFound = 20;

/**
 * Looks up the searched text as an `X-Request-ID` or `X-Transaction-ID` of an answer, so that
 * people who have one needn't know whether the call reached a vendor. Undefined if it can't be an
 * id.
 */
export async function lookUpId(
  ctx: PageContext,
  request: PageRequest,
): Promise<FoundById | undefined> {
  const id = searchedId(request);
  if (!/^[!-~]{1,200}$/.test(id)) return undefined;
  const { accountId } = request;
  await Promise.all([ctx.interactions.flushRecords(), ctx.refusals.refusalRecorder.flush()]);
  const callsBy = (column: "request_id" | "transaction_id") =>
    ctx.interactions.interactions.page({
      ...{ accountId, filters: { [column]: [id] }, order: "newest", limit: maxFound },
    });
  const [refused, ...pages] = await Promise.all([
    ctx.refusals.refusalStore.list({
      ...{ accountId, ...retainedSpan(request.now), requestId: id, limit: maxFound },
    }),
    callsBy("request_id"),
    callsBy("transaction_id"),
  ]);
  const keyNames = await ctx.keys.names(accountId, refused.map(({ apiKeyId }) => apiKeyId));
  return { id, refused, keyNames, calls: pages.flatMap(({ rows }) => rows) };
}

/** Returns the searched text; people who may not see prompts have a search field only for ids. */
export function searchedId(request: PageRequest): string {
  return request.query(request.seesPayloads ? "q" : "id")?.trim() ?? "";
}

/** Shows the requests with the searched id: why they were refused, or what became of them. */
export function FoundRequests({ found, vendors, now }: {
  found: FoundById;
  vendors: VendorNames;
  now: Date;
}) {
  const { id, refused, keyNames: names, calls } = found;
  const query = new URLSearchParams({ request: id });
  return (
    <>
      {refused.length === 0 ? null : (
        <>
          <h2>{`${counted(refused.length, "refused request")} with this id`}</h2>
          <RefusedTable
            {...{ rows: refused, names, now }}
            csv={viewAddress(`${refusedPath}/csv`, query)}
          />
        </>
      )}
      {calls.length === 0 ? null : (
        <>
          <h2>{`${counted(calls.length, "call")} with this id`}</h2>
          <CallTable {...{ rows: calls, now, vendors }} label="Calls with this id" />
        </>
      )}
    </>
  );
}
