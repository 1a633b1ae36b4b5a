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
   * Calls `onRow` with each row as it arrives, in the server's own bytes: each value is its text in
   * UTF-8, in the order of the select, and no strings are made. `onRow` must not throw. Absent if
   * the driver only returns strings (embedded).
   */
  eachRow?(
    text: string,
    values: readonly SqlValue[],
    onRow: (row: BytesRow) => void,
    options?: QueryOptions,
  ): Promise<void>;
  /**
   * Set if a parameter of type `bytea` is sent as bytes; absent if it's sent as hexadecimal digits.
   */
  readonly sendsBytes?: true;
}

/**
 * See `Queryable.eachRow`. Values are views of a larger buffer, which a retained value retains too.
 */
export type BytesRow = readonly (Uint8Array<ArrayBuffer> | null)[];

export interface QueryOptions {
  /**
   * Plans the statement for these values (`plan_cache_mode = force_custom_plan`): a cached generic plan
   * misjudges skewed values.
   */
  forceCustomPlan?: boolean;
  /**
   * How long a statement outside a transaction waits for a lock, instead of five seconds; 0: without
   * limit. PostgreSQL only. In a transaction, `set local lock_timeout`.
   */
  lockMs?: number;
}

/**
 * For statements that must finish and that nobody waits for, such as an export's reads while a table
 * is rewritten.
 */
export const noLockLimit: QueryOptions = { lockMs: 0 };

/** Statements of one transaction. */
export interface Transaction extends Queryable {
  /**
   * Inserts rows into these columns of a table, each a line of `copyLine`: PostgreSQL takes half
   * the time that it takes for arrays of parameters. A row that exists already fails the whole
   * statement.
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
   * Runs the work of the thread's module (`openEmbedded`), in the database's own thread: input and
   * output are plain values. Fails as `query` does. Embedded database only.
   */
  work?(input: unknown): Promise<unknown>;
  close(): Promise<void>;
}
