import type { RefusalRow } from "../../../refusals/refusal.ts";
import type { InteractionSummary } from "../../../shared/interaction.ts";
import type { PageContext, PageRequest } from "../../bind.tsx";
import { counted } from "../../amounts.ts";
import { CallTable } from "./list_table.tsx";
import { refusedPath, RefusedTable, retainedSpan } from "./refused_page.tsx";
import { viewAddress } from "./view.ts";

/** What has an id that somebody searched for. */
export interface FoundById {
  id: string;
  refused: readonly RefusalRow[];
  calls: readonly InteractionSummary[];
}

/** One id has as many calls as it was repeated; more are in a filtered list. */
const maxFound = 20;

/**
 * The search field takes an `X-Request-ID` or `X-Transaction-ID` of an answer too: whoever has one
 * need not know whether the call reached a vendor. Undefined if what is searched can't be an id.
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
  return { id, refused, calls: pages.flatMap(({ rows }) => rows) };
}

/** What stands in the search field; who may not see prompts has one for ids alone. */
export function searchedId(request: PageRequest): string {
  return request.query(request.seesPayloads ? "q" : "id")?.trim() ?? "";
}

/** The request that was searched for: why it was refused, or what became of it. */
export function FoundRequests({ found, names, now }: {
  found: FoundById;
  names: ReadonlyMap<string, string>;
  now: Date;
}) {
  const { id, refused, calls } = found;
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
          <CallTable rows={calls} now={now} label="Calls with this id" />
        </>
      )}
    </>
  );
}
