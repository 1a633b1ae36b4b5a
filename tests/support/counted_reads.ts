import type {
  Database,
  Queryable,
  QueryOptions,
  SqlRow,
  SqlValue,
} from "../../src/database/database.ts";

/** A database whose statements are also explained, which adds up the rows that they read. */
export class CountedReads {
  rows = 0;
  statements = 0;
  readonly database: Database;

  constructor(database: Database) {
    this.database = {
      ...database,
      query: this.#counted(database),
      transaction: (work) =>
        database.transaction((tx) => work({ ...tx, query: this.#counted(tx) })),
    };
  }

  #counted(database: Queryable): Queryable["query"] {
    return async <Row extends SqlRow>(
      text: string,
      values: readonly SqlValue[] = [],
      options?: QueryOptions,
    ) => {
      this.statements++;
      if (isExplained(text)) this.rows += await explained(database, text, values, options);
      return await database.query<Row>(text, values, options);
    };
  }

  async rowsOf(text: string, values: readonly SqlValue[]): Promise<number> {
    this.rows = 0;
    await this.database.query(text, values);
    return this.rows;
  }
}

/** A setting reads nothing, and has no plan. */
function isExplained(text: string): boolean {
  return !text.startsWith("set local ");
}

async function explained(
  database: Queryable,
  text: string,
  values: readonly SqlValue[],
  options?: QueryOptions,
): Promise<number> {
  const [row] = await database.query(
    `explain (analyze, timing off, format json) ${text}`,
    values,
    options,
  );
  const plan = row!["QUERY PLAN"];
  const [{ Plan }] = (typeof plan === "string" ? JSON.parse(plan) : plan) as [{ Plan: PlanNode }];
  return rowsRead(Plan);
}

interface PlanNode {
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: readonly PlanNode[];
}

/** Of tables and their indexes, those too that were thrown away. */
function rowsRead(node: PlanNode): number {
  const { Plans: below = [] } = node;
  const own = node["Relation Name"] === undefined ? 0 : node["Actual Loops"] *
    (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) +
      (node["Rows Removed by Index Recheck"] ?? 0));
  return below.reduce((sum, one) => sum + rowsRead(one), own);
}
