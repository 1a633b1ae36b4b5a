import { parseExactly } from "../../base/exact_json.ts";
import type { VendorReply } from "../../shared/fault.ts";
import type {
  InteractionListPage,
  InteractionPageQuery,
  InteractionRepository,
  StoredPayload,
} from "../interaction_repository.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { searchInteractions } from "./interaction_search.ts";
import {
  listInteractions,
  listSessionCalls,
  listTotals,
  trySelectiveRange,
} from "./interactions_list.ts";
import { readSummary, selectedColumns } from "../columns.ts";

export function createInteractionRepository(database: Queryable): InteractionRepository {
  return {
    page: (query) => page(database, query),
    totals: (query) => listTotals(database, query),
    sessionCalls: (...args) => listSessionCalls(database, ...args),
    async texts(accountId, transactionIds, maxChars) {
      if (transactionIds.length === 0) return [];
      const rows = await database.query(textsSql, [accountId, transactionIds, maxChars], {
        forceCustomPlan: true,
      });
      return rows.map((row) => ({
        transactionId: String(row.transaction_id),
        dialect: String(row.dialect),
        request: row.request as string | null,
        response: row.response as string | null,
      }));
    },
    async find(accountId, transactionId, maxChars) {
      const id = sanitizeText(transactionId);
      const [row] = await database.query(findSql, [accountId, id, maxChars], {
        forceCustomPlan: true,
      });
      return row && {
        summary: readSummary(row),
        pricedUsageText: row.priced_usage as string | null,
        request: payload(row, "request"),
        response: payload(row, "response"),
        vendorAnswer: row.vendor_error === null
          ? null
          : parseExactly(String(row.vendor_error)) as VendorReply,
      };
    },
  };
}

async function page(
  database: Queryable,
  query: InteractionPageQuery,
): Promise<InteractionListPage> {
  if (query.search !== undefined) return await searchInteractions(database, query, query.search);
  return await trySelectiveRange(database, query) ?? await listInteractions(database, query);
}

/**
 * Looks up only the unique id: with a plain condition on the account the planner might scan the
 * account's index.
 */
const findSql = `select ${selectedColumns}, p.vendor_error,
    ${
  ["request", "response"].map((name) =>
    `left(p.${name}, $3) as ${name},
      octet_length(p.${name}) as ${name}_bytes, length(p.${name}) <= $3 as ${name}_whole`
  ).join(", ")
}
  from interactions i left join lateral (
    select request, response, vendor_error from interaction_payloads p
    where p.transaction_id = i.transaction_id and p.created_at = i.created_at
  ) as p on true
  where i.transaction_id = $2 and i.account_id + 0 = $1::bigint`;

/**
 * Looks up each call only by its id, like `findSql`. The inner limit forces that: without
 * statistics on ids, which the embedded database lacks, the planner would rather scan all calls.
 */
const textsSql = `select i.transaction_id, i.dialect,
    case when octet_length(p.request) <= $3::bigint then p.request end as request,
    case when octet_length(p.response) <= $3::bigint then p.response end as response
  from unnest($2::text[]) as named(id)
  cross join lateral (
    select transaction_id, created_at, dialect from interactions i
    where i.transaction_id = named.id and i.account_id + 0 = $1::bigint limit 1
  ) as i
  left join lateral (
    select request, response from interaction_payloads p
    where p.transaction_id = i.transaction_id and p.created_at = i.created_at limit 1
  ) as p on true`;

function payload(row: SqlRow, name: "request" | "response"): StoredPayload | null {
  const text = row[name] as string | null;
  if (text === null) return null;
  return { text, bytes: Number(row[`${name}_bytes`]), isWhole: row[`${name}_whole`] === true };
}
