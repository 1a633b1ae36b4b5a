/** A value bound to a `$n` parameter. JSON is bound as text and cast: `$1::text::jsonb`. */
export type SqlValue =
  | string
  | number
  | bigint
  | boolean
  | Date
  | Uint8Array
  | null
  | readonly SqlValue[];

/** A row as both drivers return it: `int8` as bigint, `timestamptz` as Date, `numeric` as string. */
export type SqlRow = Record<string, unknown>;

/**
 * One SQL text, two drivers. Parameters are `$1`, `$2`…; no driver-specific helpers.
 * An unreachable database throws `Fault("store_unavailable")`; other database errors are thrown as
 * they are.
 */
export interface Queryable {
  query<Row extends SqlRow = SqlRow>(
    text: string,
    values?: readonly SqlValue[],
    options?: QueryOptions,
  ): Promise<Row[]>;
  /**
   * Gives each row as it arrives, in the server's own bytes: each value is its text in UTF-8, in the
   * order of the select. No strings are made of them. `onRow` must not throw. Absent where the
   * driver has only strings (embedded).
   */
  eachRow?(
    text: string,
    values: readonly SqlValue[],
    onRow: (row: BytesRow) => void,
    options?: QueryOptions,
  ): Promise<void>;
  /** Whether a parameter of type `bytea` is sent as it is; absent where it is sent as hexadecimal digits. */
  readonly sendsBytes?: true;
}

/** See `Queryable.eachRow`. Values are views of a larger buffer: whoever keeps one keeps that too. */
export type BytesRow = readonly (Uint8Array<ArrayBuffer> | null)[];

export interface QueryOptions {
  /**
   * Plans the statement for these values (`plan_cache_mode = force_custom_plan`): a cached generic plan
   * misjudges skewed values.
   */
  forceCustomPlan?: boolean;
}

/** Statements of one transaction. */
export interface Transaction extends Queryable {
  /**
   * Adds rows to these columns of a table, each a line of `copyLine`: PostgreSQL reads them in half of
   * the time that it takes for arrays of parameters. A row that is there already fails the whole.
   */
  copyIn(table: string, columns: readonly string[], lines: readonly string[]): Promise<void>;
}

export interface Database extends Queryable {
  /** `postgres` is shared with other processes; `embedded` belongs to this one alone. */
  readonly kind: "embedded" | "postgres";
  /** Commits when `work` returns, rolls back when it throws. No network wait inside. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Resolves if the database answers and takes writes; for `/readyz`. */
  ping(): Promise<void>;
  /**
   * Interactive reads, on connections of their own. One that takes too long is cancelled, and throws
   * `Fault("store_unavailable")`. Absent on the embedded database.
   */
  readonly reads?: Queryable;
  /**
   * Runs what the thread's own module does (`openEmbedded`), beside the data: plain values go in and
   * come out. Fails as `query` does. Embedded database only.
   */
  work?(input: unknown): Promise<unknown>;
  close(): Promise<void>;
}
