import type { Account, AccountStore, Tier } from "../domain/account.ts";
import type { Queryable, SqlRow } from "./database.ts";
import { storable } from "./storable.ts";

/** Columns of an account, in the order that `readAccount` knows. */
export const accountColumns = "id, name, tier, requests_per_minute, burst, created_at";

export function createAccounts(database: Queryable): AccountStore {
  return {
    async create({ name, tier, requestsPerMinute, burst }) {
      const [row] = await database.query(
        `insert into accounts (name, tier, requests_per_minute, burst)
         values ($1, $2, $3, $4) returning ${accountColumns}`,
        [name, tier, requestsPerMinute, burst],
      );
      return readAccount(row!);
    },
    async find(idOrName) {
      const byId = /^\d{1,18}$/.test(idOrName);
      const [row] = await database.query(
        `select ${accountColumns} from accounts where ${byId ? "id = $1::bigint" : "name = $1"}`,
        [storable(idOrName)],
      );
      return row && readAccount(row);
    },
    async first() {
      const [row] = await database.query(
        `select ${accountColumns} from accounts order by id limit 1`,
        [],
      );
      return row && readAccount(row);
    },
    async list() {
      const rows = await database.query(`select ${accountColumns} from accounts order by id`, []);
      return rows.map((row) => readAccount(row));
    },
  };
}

/** An account out of a row; `prefix` stands before its columns' names. */
export function readAccount(row: SqlRow, prefix = ""): Account {
  return {
    id: Number(row[`${prefix}id`]),
    name: String(row[`${prefix}name`]),
    tier: row[`${prefix}tier`] as Tier,
    requestsPerMinute: Number(row[`${prefix}requests_per_minute`]),
    burst: Number(row[`${prefix}burst`]),
    createdAt: row[`${prefix}created_at`] as Date,
  };
}
