import { parseExactly } from "../../base/exact_json.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { pageByAccount } from "../../database/page_by_account.ts";
import {
  type StoredVirtualModel,
  type VirtualModelDefinition,
  virtualModelLimits,
  type VirtualModelStore,
} from "../virtual_model.ts";

const columns = "account_id, name, definition, created_at, updated_at";

/** The row of a removed model stays without its definition, so that other processes see it. */
export function createVirtualModelStore(database: Database): VirtualModelStore {
  return {
    set: (...change) => database.transaction((tx) => setModel(tx, ...change)),
    remove: (accountId, name, audit) =>
      database.transaction(async (tx) => {
        const rows = await tx.query(
          `update virtual_models set definition = null, updated_at = clock_timestamp()
           where account_id = $1 and name = $2 and definition is not null returning name`,
          [accountId, name],
        );
        if (rows.length === 0) return false;
        await writeAudit(tx, audit);
        return true;
      }),
    async list(...asked) {
      const select = `select ${columns} from virtual_models where definition is not null`;
      return (await pageByAccount(database, { select, name: "name" }, ...asked)).map(readStored);
    },
    async changedSince(since) {
      const rows = await database.query(
        `select n.now, v.account_id, v.name, v.definition, v.created_at
         from (select clock_timestamp() as now) n
         left join virtual_models v on v.updated_at >= coalesce($1::timestamptz, '-infinity')
           and ($1::timestamptz is not null or v.definition is not null)`,
        [since],
      );
      return {
        now: rows[0]!.now as Date,
        changes: rows.filter(({ name }) => name !== null).map((row) => ({
          accountId: Number(row.account_id),
          name: String(row.name),
          definition: row.definition === null ? null : readDefinition(row.definition),
          createdAt: row.created_at as Date,
        })),
      };
    },
    async forgetRemoved(minutes) {
      await database.query(
        `delete from virtual_models where ctid = any(array(
           select ctid from virtual_models where definition is null
             and updated_at < now() - make_interval(mins => $1::int)
           for update skip locked))`,
        [minutes],
      );
    },
  };
}

async function setModel(
  tx: Queryable,
  ...[accountId, name, change, audit]: Parameters<VirtualModelStore["set"]>
): Promise<StoredVirtualModel | undefined> {
  // Locked, so that models made at the same moment are counted one after the other.
  await tx.query("select id from accounts where id = $1 for no key update", [accountId]);
  const definition = typeof change === "function"
    ? change(await findDefinition(tx, accountId, name))
    : change;
  const [row] = await tx.query(
    `insert into virtual_models (account_id, name, definition)
     select $1::bigint, $2::text, $3::text
     where (select count(*) from virtual_models
       where account_id = $1::bigint and definition is not null and name <> $2::text) < $4
     on conflict (account_id, name) do update set definition = excluded.definition,
       updated_at = clock_timestamp(),
       created_at = case when virtual_models.definition is null then clock_timestamp()
         else virtual_models.created_at end
     returning ${columns}`,
    [accountId, name, JSON.stringify(definition), virtualModelLimits.perAccount],
  );
  if (!row) return undefined;
  await writeAudit(tx, typeof audit === "function" ? audit(definition) : audit);
  return readStored(row);
}

async function findDefinition(
  tx: Queryable,
  accountId: number,
  name: string,
): Promise<VirtualModelDefinition | undefined> {
  const [row] = await tx.query(
    `select definition from virtual_models
     where account_id = $1 and name = $2 and definition is not null`,
    [accountId, name],
  );
  return row && readDefinition(row.definition);
}

function readStored(row: SqlRow): StoredVirtualModel {
  return {
    accountId: Number(row.account_id),
    name: String(row.name),
    definition: readDefinition(row.definition),
    createdAt: row.created_at as Date,
    updatedAt: row.updated_at as Date,
  };
}

/** Parses what `set` has written. */
function readDefinition(text: unknown): VirtualModelDefinition {
  return parseExactly(String(text)) as VirtualModelDefinition;
}
