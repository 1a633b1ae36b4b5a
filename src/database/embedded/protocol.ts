import type { Queryable, SqlRow, Transaction } from "../database.ts";

/**
 * Max files that the embedded database opens at once, if the process may open `free` ones: at most
 * 400, enough for the tables of a few months, and at least the 64 that it can work with. Without a
 * limit it keeps up to a thousand open, and breaks if the process may open no more.
 */
export function maxDatabaseFiles(free: number): number {
  return Math.max(64, Math.min(400, Math.floor(free / 4)));
}

/** The arguments of `Queryable.query`, and of `Transaction.copyIn`. */
export type Statement = Parameters<Queryable["query"]>;
export type CopyStatement = Parameters<Transaction["copyIn"]>;

/** The directory to open; a new one is filled from `image`, the URL of a file. */
export interface Opening {
  directory: string;
  image: string;
  maxFiles: number;
}

/** A question to the embedded database's thread. `tx` is the id of an open transaction. */
export type Ask =
  | ({ kind: "open" } & Opening)
  | { kind: "query"; tx: number | undefined; statement: Statement }
  | { kind: "copy"; tx: number; statement: CopyStatement }
  | { kind: "begin" }
  | { kind: "commit"; tx: number }
  | { kind: "rollback"; tx: number }
  | { kind: "work"; input: unknown }
  | { kind: "close" };

/** `broken`: the database can only be reopened. */
export type EmbeddedMessage =
  | { ok: true; rows: SqlRow[]; tx?: number; output?: unknown }
  | {
    ok: false;
    error: { message: string; code: string | undefined };
    broken: boolean;
  };
