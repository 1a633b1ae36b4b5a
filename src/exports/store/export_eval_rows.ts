import { pushAll } from "../../base/lists.ts";
import type { ExportTable } from "../../../contracts/data/export_tables.ts";
import type { Cell } from "../../records/exported_cells.ts";
import { type Cells, columnsOf } from "../row_writers.ts";
import type { ExportQuery } from "../export_source.ts";
import {
  noLockLimit,
  type Queryable,
  type SqlRow,
  type SqlValue,
} from "../../database/database.ts";
import { filterConditions } from "../../records/filter_conditions.ts";
import { type SnapshotConditions, snapshotConditions } from "../../database/snapshot.ts";

type EvalTable = Exclude<ExportTable, "interactions">;

/** Rows of one page; filters and graders of a row may be long. */
const pageRows = 200;

/** Reads the rows of a table of evaluations, oldest first, in pages by keyset. */
export async function* readEvalRows(
  database: Queryable,
  table: EvalTable,
  query: ExportQuery,
): AsyncGenerator<Cells[]> {
  const { key } = tables[table];
  const { conditions, values } = where(table, query);
  const names = columnsOf(table).map(([name]) => name);
  // Times have more digits than a Date holds; as text the cursor is exact.
  const cursor = key.map(({ name }) => `t.${name}::text as after_${name}`);
  let after: SqlRow | undefined;
  for (;;) {
    const bound = [...values];
    const all = [...conditions];
    if (after) {
      const parameters = key.map(({ name, type }) =>
        `$${bound.push(String(after![`after_${name}`]))}::text::${type}`
      );
      all.push(`(${key.map(({ name }) => `t.${name}`).join(", ")}) > (${parameters.join(", ")})`);
    }
    const rows = await database.query(
      `select ${names.map((name) => `t.${name}`).join(", ")}, ${cursor.join(", ")}
       from ${table} t where ${all.join(" and ")}
       order by ${key.map(({ name }) => `t.${name}`).join(", ")} limit ${pageRows}`,
      bound,
      noLockLimit,
    );
    yield rows.map((row) => names.map((name) => cellOf(row[name])));
    if (rows.length < pageRows) return;
    after = rows.at(-1)!;
  }
}

/** Counts the rows that `readEvalRows` would yield. */
export async function countEvalRows(
  database: Queryable,
  table: EvalTable,
  query: ExportQuery,
): Promise<number> {
  const { conditions, values } = where(table, query);
  const [row] = await database.query(
    `select count(*) as rows from ${table} t where ${conditions.join(" and ")}`,
    values,
  );
  return Number(row!.rows);
}

interface Table {
  /** The unique sort key of the rows. */
  key: readonly { name: string; type: "timestamptz" | "text" | "integer" }[];
  inSnapshot: (conditions: SnapshotConditions) => string;
}

const tables: Readonly<Record<EvalTable, Table>> = {
  eval_runs: {
    key: [{ name: "created_at", type: "timestamptz" }, { name: "eval_run_id", type: "text" }],
    // A run's row is updated at each step, and is exported in its current state.
    inSnapshot: (conditions) =>
      `(${conditions.before("t.created_at")} or ${conditions.written("t")})`,
  },
  eval_results: {
    key: [
      { name: "created_at", type: "timestamptz" },
      { name: "eval_run_id", type: "text" },
      { name: "transaction_id", type: "text" },
      { name: "grader_index", type: "integer" },
    ],
    inSnapshot: (conditions) => `(${conditions.old("t.created_at")} or ${conditions.written("t")})`,
  },
};

function where(
  table: EvalTable,
  query: ExportQuery,
): { conditions: string[]; values: SqlValue[] } {
  const values: SqlValue[] = [query.accountId];
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  const conditions = ["t.account_id = $1"];
  if (query.start) conditions.push(`t.created_at >= ${bind(query.start)}`);
  if (query.end) conditions.push(`t.created_at < ${bind(query.end)}`);
  pushAll(conditions, filterConditions(table, "t", query.filters, bind));
  conditions.push(tables[table].inSnapshot(snapshotConditions(query.snapshot, bind)));
  return { conditions, values };
}

function cellOf(value: unknown): Cell {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "bigint") return Number(value);
  return value === undefined ? null : value as Cell;
}
