import type { SqlValue } from "../../database/database.ts";
import { pushAll } from "../../base/lists.ts";
import type { InteractionQuery } from "../../shared/interaction.ts";
import { interactionConditions } from "../filter_conditions.ts";
import { type IndexedFilter, indexedFilters, partialIndexCondition } from "./list_conditions.ts";

/** Which calls a query selects, as parts of a statement. */
export interface SelectedCalls {
  /** Conditions on `i`. */
  readonly conditions: string[];
  readonly values: SqlValue[];
  /** The filter whose values are looked up one by one; its condition is not among the others. */
  readonly lookedUp: IndexedFilter | undefined;
}

/**
 * Returns the conditions of a window's calls. If it was checked by the index of several values, they
 * are looked up there again: left to the planner, all calls in between would be read.
 */
export function selectedCalls(query: InteractionQuery): SelectedCalls {
  const lookedUp = indexedFilters(query.filters).find(({ column, wanted }) =>
    column === query.indexedBy && wanted.length > 1
  );
  if (!lookedUp) return { ...interactionConditions(query), lookedUp };
  const others = Object.entries(query.filters ?? {}).filter(([name]) => name !== lookedUp.column);
  const { conditions, values } = interactionConditions({
    ...query,
    filters: Object.fromEntries(others),
  });
  pushAll(conditions, partialIndexCondition(lookedUp.column));
  return { conditions, values, lookedUp };
}

/** The order of a list, and the most calls of it. */
export interface InOrder {
  readonly direction: "asc" | "desc";
  /** The number of calls, as SQL. */
  readonly limit: string;
}

/** Selects `what` of calls `i`: of all, or of the first ones of an order. */
export function selectCalls(
  what: string,
  { conditions, values, lookedUp }: SelectedCalls,
  inOrder?: InOrder,
): string {
  const end = (first = "") =>
    inOrder
      ? `order by ${first} i.created_at ${inOrder.direction}, i.transaction_id ${inOrder.direction}
         limit ${inOrder.limit}`
      : "";
  if (!lookedUp) {
    return `select ${what} from interactions i where ${conditions.join(" and ")} ${end()}`;
  }
  // A range and its order leave the planner no other index, which it would read once for each value;
  // an offset keeps it from reading all calls and joining them.
  const column = `i.${lookedUp.column}`;
  const ofValue = [...conditions, `${column} between wanted.value and wanted.value`];
  return `select ${what} from unnest($${values.push(lookedUp.wanted)}::text[]) as wanted(value)
    cross join lateral (
      select i.* from interactions i where ${ofValue.join(" and ")}
      ${end(`${column} ${inOrder?.direction},`) || "offset 0"}
    ) as i ${end()}`;
}
