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

/** A row as both drivers give it: `int8` as bigint, `timestamptz` as Date, `numeric` as string. */
export type SqlRow = Record<string, unknown>;

/**
 * One SQL text, two drivers. Parameters are `$1`, `$2`…; no driver-specific helpers.
 * A store that can't be reached throws `Fault("store_unavailable")`; every other database error
 * is passed on as it is.
 */
export interface Queryable {
  query<Row extends SqlRow = SqlRow>(
    text: string,
    values?: readonly SqlValue[],
    options?: QueryOptions,
  ): Promise<Row[]>;
}

export interface QueryOptions {
  /**
   * The statement is planned for these values each time. A plan that is kept takes every value for
   * an average one, which some are far from. The embedded database keeps none.
   */
  forceCustomPlan?: boolean;
}

export interface Database extends Queryable {
  /** `postgres` is shared with other processes; `embedded` belongs to this one alone. */
  readonly kind: "embedded" | "postgres";
  /** Commits when `work` returns, rolls back when it throws. No network wait inside. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** Resolves when the database answers; for `/readyz`. */
  ping(): Promise<void>;
  /**
   * Reads that somebody waits for, on connections of their own. One that takes too long is ended,
   * and throws `Fault("store_unavailable")`. Absent where reads can't be told apart.
   */
  readonly reads?: Queryable;
  close(): Promise<void>;
}
