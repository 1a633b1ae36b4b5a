import type { SqlRow, SqlValue } from "../database.ts";

/** A request to the embedded database's worker. `tx` is the id of an open transaction. */
export type Ask =
  | { id: number; kind: "open"; directory: string; image: string }
  | {
    id: number;
    kind: "query";
    tx: number | undefined;
    text: string;
    values: readonly SqlValue[] | undefined;
    forceCustomPlan: boolean;
  }
  | { id: number; kind: "begin" }
  | { id: number; kind: "commit"; tx: number }
  | { id: number; kind: "rollback"; tx: number }
  | { id: number; kind: "close" };

/** `broken`: the database can only be reopened. */
export type EmbeddedMessage =
  | { id: number; ok: true; rows: SqlRow[]; tx?: number }
  | {
    id: number;
    ok: false;
    error: { message: string; code: string | undefined };
    broken: boolean;
  };
