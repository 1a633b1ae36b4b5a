import type { Interaction, InteractionQuery } from "../../shared/interaction.ts";
import type { Queryable, SqlRow, SqlValue } from "../../database/database.ts";
import { interactionConditions } from "../filter_conditions.ts";
import { readSummary, selectedColumns } from "../columns.ts";
import { chunks } from "../../database/chunks.ts";
import { snapshotConditions } from "../../database/snapshot.ts";

/** Rows per page, without payloads, which may be a MiB each. */
const pageRows = 200;
/** Bytes of payloads per query; a single row may exceed it. */
const fetchedBytes = 4 * 1024 * 1024;

/** Rows oldest first. Memory holds at most a page of rows, and payloads up to `fetchedBytes`. */
export async function* readInteractions(
  database: Queryable,
  query: InteractionQuery,
): AsyncGenerator<Interaction> {
  const { conditions, values } = readConditions(query);
  let after: SqlRow | undefined;
  for (;;) {
    const bound = [...values];
    const all = [...conditions];
    if (after) {
      bound.push(after.created_at as Date, String(after.transaction_id));
      const [time, id] = [`$${bound.length - 1}`, `$${bound.length}`];
      all.push(`(i.created_at, i.transaction_id) > (${time}, ${id})`);
      // Redundant, but a condition on time alone lets the planner skip partitions.
      all.push(`i.created_at >= ${time}`);
    }
    const rows = await database.query(
      `select ${selectedColumns},
         coalesce((${
        ofPayload("coalesce(octet_length(p.request), 0) + coalesce(octet_length(p.response), 0)")
      }), 0)
           as payload_bytes
       from interactions i where ${all.join(" and ")}
       order by i.created_at, i.transaction_id limit ${pageRows}`,
      bound,
    );
    for (const some of chunks(rows, payloadBytes, fetchedBytes)) {
      yield* withPayloads(database, some);
    }
    if (rows.length < pageRows) return;
    after = rows.at(-1)!;
  }
}

/** How many rows `readInteractions` would return. */
export async function countInteractions(
  database: Queryable,
  query: InteractionQuery,
): Promise<number> {
  const { conditions, values } = readConditions(query);
  const [row] = await database.query(
    `select count(*) as rows from interactions i where ${conditions.join(" and ")}`,
    values,
  );
  return Number(row!.rows);
}

/**
 * Scalar subquery on the row's payloads; null if they are gone. Not a join: without statistics the
 * planner scans all payloads for each page.
 */
function ofPayload(expression: string): string {
  return `select ${expression} from interaction_payloads p
    where p.transaction_id = i.transaction_id and p.created_at = i.created_at`;
}

function readConditions(query: InteractionQuery): { conditions: string[]; values: SqlValue[] } {
  const { conditions, values } = interactionConditions(query);
  if (query.snapshot === undefined) return { conditions, values };
  const was = snapshotConditions(query.snapshot, (value) => `$${values.push(value)}`);
  // Repricing updates a call's row but not its payloads, so these tell when it was written. If they
  // are gone, the call is old.
  const payloadsWere = `coalesce((${ofPayload(was.written("p"))}), true)`;
  conditions.push(`(${was.old("i.created_at")} or ${was.written("i")} or ${payloadsWere})`);
  return { conditions, values };
}

/** Payloads that retention has erased are null. */
async function* withPayloads(database: Queryable, rows: SqlRow[]): AsyncGenerator<Interaction> {
  const payloads = new Map<string, SqlRow>();
  if (rows.some((row) => payloadBytes(row) > 0)) {
    const found = await database.query(
      `select p.transaction_id, p.created_at, p.request, p.response
       from unnest($1::text[], $2::timestamptz[]) as wanted(transaction_id, created_at)
       cross join lateral (
         select * from interaction_payloads p
         where p.transaction_id = wanted.transaction_id and p.created_at = wanted.created_at
       ) as p`,
      [
        rows.map((row) => String(row.transaction_id)),
        rows.map((row) => (row.created_at as Date).toISOString()),
      ],
    );
    for (const payload of found) payloads.set(keyOf(payload), payload);
  }
  for (const row of rows) yield readRow(row, payloads.get(keyOf(row)));
}

function payloadBytes(row: SqlRow): number {
  return Number(row.payload_bytes);
}

function keyOf(row: SqlRow): string {
  return `${(row.created_at as Date).getTime()} ${row.transaction_id}`;
}

function readRow(row: SqlRow, payload: SqlRow | undefined): Interaction {
  return {
    ...readSummary(row),
    requestText: (payload?.request ?? null) as string | null,
    responseText: (payload?.response ?? null) as string | null,
  };
}
