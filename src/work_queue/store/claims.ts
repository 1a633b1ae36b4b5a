import { fromNow } from "../../database/from_now.ts";
import type { Database, Queryable, SqlRow, SqlValue } from "../../database/database.ts";

/** A table whose rows are work, and its columns that say who works on a row and until when. */
export interface WorkTable {
  name: string;
  key: string;
  /** The column that names a row for its worker; the key when absent. */
  id?: string;
  /** The column that names the worker's process; absent where rows don't say it. */
  owner?: string;
  /** The column that tells one claim of a row from the next; the owner when absent. */
  token?: string;
  /** When the claim expires unless it is renewed; null: nobody holds the row. */
  until: string;
  /** The condition of rows that are not done. */
  isOpen: string;
  claimMs: number;
}

/** The SQL of a claim, its own parameters numbered from `firstParam` on. */
export interface ClaimQuery {
  most?: number;
  /** Ids that this process works on already. */
  except: readonly string[];
  set?: string;
  /** The condition of rows to claim; the alias of the table is `work`. */
  where?: string;
  orderBy: string;
  returning: string;
  params?: readonly SqlValue[];
}

/** The number of a claim's first own parameter. */
export const firstParam = 3;

/**
 * Names this run of a process. What an earlier run of the same process holds may be claimed at once:
 * `processId` is the same over restarts, `run` another one each time.
 */
export function workerIdOf({ processId, run }: { processId: string; run: string }): string {
  return `${processId}/${run}`;
}

/**
 * For an `order by`: first comes the work of the account that has the fewest rows in `recent`, a
 * query of `account_id`. They are counted once, not for each row of work.
 */
export function fewestFirst(recent: string): string {
  return `coalesce(((
      select jsonb_object_agg(account_id, times) from (
        select account_id, count(*) as times from (${recent}) as recent group by account_id
      ) as counted
    ) ->> account_id::text)::bigint, 0)`;
}

/** Claims on rows of a table that processes share. Times are the database's own. */
export class Claims {
  readonly #database: Database;
  readonly #table: WorkTable & { id: string };
  readonly #workerId: string;

  constructor(database: Database, table: WorkTable, workerId: string) {
    this.#database = database;
    this.#table = { id: table.key, ...table };
    this.#workerId = workerId;
  }

  /** Claims rows that nobody holds: each goes to one process only. */
  async claim(query: ClaimQuery): Promise<SqlRow[]> {
    return await this.#claim(this.#database, query);
  }

  /**
   * `claim` for work of which one claim rules out others, such as those of its account: two
   * concurrent claims don't see each other, so they take turns. `lock` is the key of their advisory
   * lock.
   */
  async claimInTurn(query: ClaimQuery, lock: number): Promise<SqlRow[]> {
    // Most attempts find nothing, and need no lock.
    if (!await this.canClaim(query)) return [];
    return await this.#database.transaction(async (tx) => {
      await tx.query("select pg_advisory_xact_lock($1)", [lock]);
      return await this.#claim(tx, query);
    });
  }

  /** Whether there are rows to claim; `except`, `where` and `params` as in `claim`. */
  async canClaim(
    { except, where = "true", params = [] }: Pick<ClaimQuery, "except" | "where" | "params">,
  ): Promise<boolean> {
    const rows = await this.#database.query(
      `select 1 as one from ${this.#table.name} work
       where ${this.isFree()} and ${where} limit 1`,
      [this.#workerId, except, ...params],
    );
    return rows.length > 0;
  }

  /**
   * Renews those claims on these rows of which a third has passed. Returns the rows that are still
   * held, by id. `tokens` are the tokens of the claims, if these aren't told apart by their owner.
   */
  async renew(ids: readonly string[], { tokens = ids.map(() => this.#workerId), returning }: {
    tokens?: readonly string[];
    returning?: string;
  } = {}): Promise<Map<string, SqlRow>> {
    if (ids.length === 0) return new Map();
    const { name, key, id, owner, token = owner, until, claimMs } = this.#table;
    const ours = `(${id}, ${token}::text) in (select * from unnest($1::text[], $2::text[]))
      and ${until} is not null`;
    // A row that is being written now is just ending: it's skipped, not waited for.
    const rows = await this.#database.query(
      `with renewed as (
         update ${name} set ${until} = ${fromNow(claimMs)} where (${key}) in (
           select ${key} from ${name}
           where ${ours} and ${until} < ${fromNow(Math.floor(claimMs * 2 / 3))}
           for update skip locked)
       ) select ${id} as id${returning ? `, ${returning}` : ""} from ${name} where ${ours}`,
      [ids, tokens],
    );
    return new Map(rows.map((row) => [String(row.id), row]));
  }

  async #claim(
    database: Queryable,
    { except, params = [], ...query }: ClaimQuery,
  ): Promise<SqlRow[]> {
    return await database.query(this.#claimSql(query), [this.#workerId, except, ...params]);
  }

  #claimSql(
    { most = 1, set, where = "true", orderBy, returning }: Omit<ClaimQuery, "except" | "params">,
  ): string {
    const { name, key, owner, until, claimMs } = this.#table;
    const changes = [
      `${until} = ${fromNow(claimMs)}`,
      ...(owner ? [`${owner} = $1`] : []),
      ...(set ? [set] : []),
    ];
    return `with next as (
        select ${key} from ${name} work where ${this.isFree()} and ${where}
        order by ${orderBy} limit ${most} for update skip locked
      )
      update ${name} set ${changes.join(", ")} where (${key}) in (select ${key} from next)
      returning ${returning}`;
  }

  /**
   * SQL that is true of open rows that this run may claim; $1 and $2 are those of a claim. Sub-queries
   * use it to find the rows that rule out others.
   */
  isFree(): string {
    const { id, owner, until, isOpen } = this.#table;
    // An embedded database belongs to one process at a time, and so does a process id: any other
    // run has ended.
    const isDead = !owner
      ? "$1::text is null"
      : this.#database.kind === "embedded"
      ? `${owner} <> $1::text`
      : `${owner} <> $1::text and split_part(${owner}, '/', 1) = split_part($1::text, '/', 1)`;
    return `${isOpen} and ${id} <> all($2::text[])
      and (${until} is null or ${until} <= clock_timestamp() or ${isDead})`;
  }
}

/** Returns the part of an update that gives a row back. */
export function withoutClaim({ owner, until }: WorkTable): string {
  return `${owner ? `${owner} = null, ` : ""}${until} = null`;
}
