import { listFilters } from "../../../contracts/data/interactions.ts";
import { interactionColumns } from "../../../contracts/data/export_tables.ts";
import { contracts } from "../../../contracts/mod.ts";
import { defined } from "../../base/defined.ts";
import { nanosToUsd } from "../../base/money.ts";
import { jsonWriter } from "../../exports/row_writers.ts";
import { recordCells } from "../../records/exported_cells.ts";
import type { FlushRecords } from "../../records/flush_records.ts";
import type {
  InteractionDetail,
  InteractionRepository,
} from "../../records/interaction_repository.ts";
import { withoutOwnAccount } from "../../records/filter_conditions.ts";
import { readCursor, writeCursor } from "../../records/list_cursor.ts";
import { countTerms, hasIgnoredTerms, maxTerms } from "../../records/search_tokens.ts";
import { billedLines, type CostLines } from "../../repricing/cost_lines.ts";
import { Fault, invalidValue } from "../../shared/fault.ts";
import { timeSpan } from "../../shared/time_span.ts";
import type { Endpoints } from "../bind.ts";
import { jsonTextReply } from "../respond.ts";

export type RecordedCallRouteDeps = {
  interactions: InteractionRepository;
  flushRecords: FlushRecords;
  costLines: (detail: InteractionDetail) => Promise<CostLines | undefined>;
};

/** Mounts the list of calls, and single calls with the breakdown of their cost. */
export function recordedCallRoutes(app: Endpoints, deps: RecordedCallRouteDeps): void {
  const { interactions, flushRecords } = deps;
  app.bind(contracts.listInteractions, async ({ caller, query }) => {
    const accountId = caller.principal.account.id;
    const { limit = defaultLimit, cursor, ...filters } = query as ListQuery;
    const scope = [accountId, filters];
    const search = searchOf(filters.q);
    const after = cursor === undefined ? undefined : readCursor(scope, cursor);
    const columns = withoutOwnAccount(columnFilters(filters), accountId, "account_id");
    const selected = { accountId, ...timeSpan(filters), filters: columns };
    await flushRecords({ accountId });
    const { rows, next } = await interactions.page({
      ...{ ...selected, ...defined({ search, after }), order: "newest", limit },
    });
    const write = jsonWriter("interactions", summaryColumns);
    const data = rows.map((row) => write(recordCells(row))).join(",");
    const nextCursor = next === undefined ? null : writeCursor(scope, next);
    const body = `{"data":[${data}],"next_cursor":${JSON.stringify(nextCursor)}}`;
    return { reply: jsonTextReply(body) };
  });

  app.bind(contracts.getInteraction, async ({ caller, params }) => {
    await flushRecords({ accountId: caller.principal.account.id });
    const { transaction_id: id } = params;
    const detail = await interactions.find(caller.principal.account.id, id, wholePayload);
    if (!detail) {
      throw new Fault("interaction_not_found", {
        param: "transaction_id",
        message: `transaction_id: no call has the id '${id}'.`,
      });
    }
    const lines = billedLines(detail.summary, await deps.costLines(detail)).map((line) => ({
      dimension: line.dimension,
      quantity: line.quantity,
      unit_price_usd: picoToUsd(line.unitPico),
      cost_usd: nanosToUsd(line.nanos),
    }));
    const { request, response } = detail;
    const payloads = { request: request?.text ?? null, response: response?.text ?? null };
    const record = jsonWriter("interactions")(recordCells(detail.summary, payloads));
    return { reply: jsonTextReply(`${record.slice(0, -1)},"lines":${JSON.stringify(lines)}}`) };
  });
}

const defaultLimit = 50;
/** In UTF-16 units; large enough to show a payload as it is stored. */
const wholePayload = 256 * 1024 * 1024;
const summaryColumns = interactionColumns.filter((name) =>
  name !== "request" && name !== "response"
);

/** The list's query parameters; those that filter by a column are arrays. */
interface ListQuery extends Readonly<Record<string, unknown>> {
  readonly limit?: number;
  readonly cursor?: string;
  readonly q?: string;
  readonly start_date?: string;
  readonly end_date?: string;
}

type FilterValues = (string | number | boolean)[];

function columnFilters(query: Readonly<Record<string, unknown>>): Record<string, FilterValues> {
  const entries = listFilters.flatMap((name) =>
    query[name] === undefined ? [] : [[name, query[name] as FilterValues] as const]
  );
  return Object.fromEntries(entries);
}

/** Refuses a search of which the store would ignore words, as the dashboard's page does. */
function searchOf(q: string | undefined): string | undefined {
  if (q === undefined) return undefined;
  const terms = countTerms(q);
  if (terms > 0 && !hasIgnoredTerms(q)) return q;
  throw invalidValue("q", `expected 1 to ${maxTerms} words, got ${terms}`);
}

/** Pico-dollars as a decimal string in USD with twelve decimals. */
function picoToUsd(pico: bigint): string {
  const digits = pico.toString().padStart(13, "0");
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`;
}
