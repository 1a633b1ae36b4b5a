import type { Cells } from "../export.ts";
import { interactionCells } from "../../records/columns.ts";
import type { ExportQuery, ExportSource } from "../export_source.ts";
import type { InteractionQuery } from "../../shared/interaction.ts";
import type { Queryable } from "../../database/database.ts";
import { countEvalRows, readEvalRows } from "./export_eval_rows.ts";
import { countInteractions, readInteractions } from "../../records/store/interactions_read.ts";
import { takeSnapshot } from "../../database/snapshot.ts";

/** The tables of an export on PostgreSQL, served or embedded. `database` holds the interactions. */
export function createExportSource(database: Queryable, evals = database): ExportSource {
  return {
    async snapshot() {
      const taken = await takeSnapshot(database);
      return evals === database ? taken : `${taken}|${await takeSnapshot(evals)}`;
    },
    read: (query) =>
      query.table === "interactions"
        ? interactionRows(database, query)
        : readEvalRows(evals, query.table, { ...query, snapshot: part(query, 1) }),
    count: (query) =>
      query.table === "interactions"
        ? countInteractions(database, interactionQuery(query))
        : countEvalRows(evals, query.table, { ...query, snapshot: part(query, 1) }),
  };
}

async function* interactionRows(database: Queryable, query: ExportQuery): AsyncGenerator<Cells> {
  for await (const row of readInteractions(database, interactionQuery(query))) {
    yield interactionCells(row);
  }
}

function interactionQuery(query: ExportQuery): InteractionQuery {
  const filters = Object.entries(query.filters).map(([name, value]) => [name, [value].flat()]);
  return { ...query, filters: Object.fromEntries(filters), snapshot: part(query, 0) };
}

/** Two databases have a snapshot each. */
function part({ snapshot }: ExportQuery, index: number): string {
  const deps = snapshot.split("|");
  return deps[index] ?? deps[0]!;
}
