import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { type LabelSumKeeper, type LabelSumStore, packSums, unpackSums } from "../label_sums.ts";
import { type LabelRows, type LabelStep, usageLabels } from "../label_usage.ts";
import { createUsageSums } from "./usage_sums.ts";

/** Reads the sums that `createLabelSumKeeper` keeps. */
export function createLabelSums(analytics: Queryable): LabelSumStore {
  return {
    async read(accountId, label, days) {
      const rows = await analytics.query(
        `select l.at, l.names, l.sums
         from unnest($3::timestamptz[], $4::text[]) as d (at, state)
           join label_sums l on l.account_id = $1 and l.label = $2 and l.at = d.at
             and l.state = d.state`,
        [accountId, label, days.map(({ at }) => at), days.map(({ state }) => state)],
      );
      return rows.map(readStep);
    },
  };
}

function readStep(row: SqlRow): LabelStep {
  const values = JSON.parse(String(row.names)) as string[];
  return { at: row.at as Date, values, sums: unpackSums(row.sums as Uint8Array, values.length) };
}

/** One process at a time adds up: others would only do the same again. */
const keeperLock = 7_305_112_604_920;

export function createLabelSumKeeper(
  analytics: Database,
  rowsOf: (tx: Queryable) => LabelRows,
): LabelSumKeeper {
  const usage = createUsageSums(analytics);
  return {
    async accounts(after, limit) {
      // Its key begins with the account: each is found by one step in the index.
      const rows = await analytics.query(
        `with recursive found as (
           select (select min(account_id) from usage_sums where account_id > $1) as account_id
           union all
           select (select min(account_id) from usage_sums u where u.account_id > found.account_id)
           from found where found.account_id is not null
         )
         select account_id from found where account_id is not null limit $2`,
        [after, limit],
      );
      return rows.map((row) => Number(row.account_id));
    },
    async missing(accountId, span) {
      const stored = await usage.storedSteps({ accountId, span: "day", ...span });
      const found = await analytics.query(
        `select at, state from label_sums where account_id = $1 and at >= $2 and at < $3`,
        [accountId, span.from, span.to],
      );
      const states = Map.groupBy(found, (row) => (row.at as Date).getTime());
      return stored.filter(({ at, state }) => {
        const ofDay = states.get(at.getTime()) ?? [];
        return ofDay.filter((row) => row.state === state).length < usageLabels.length;
      }).map(({ at }) => at).reverse();
    },
    async keep(accountId, day) {
      await analytics.transaction((tx) => keepDay(tx, rowsOf(tx), accountId, day));
    },
  };
}

/**
 * Whoever writes, corrects or erases calls changes the day's sums in the same transaction. Their rows
 * are locked first: what is read is of this state, and an erasure deletes what is kept here.
 */
async function keepDay(
  tx: Queryable,
  rows: LabelRows,
  accountId: number,
  day: Date,
): Promise<void> {
  const [lock] = await tx.query("select pg_try_advisory_xact_lock($1) as mine", [keeperLock]);
  if (lock?.mine !== true) return;
  await tx.query(
    `select from usage_sums
     where account_id = $1 and span = 'day' and part = 'all' and at = $2 for share`,
    [accountId, day],
  );
  const query = { accountId, from: day, to: new Date(day.getTime() + dayMs), span: "day" as const };
  const [stored] = await createUsageSums(tx).storedSteps(query);
  if (!stored) return;
  for (const label of usageLabels) {
    const [step = emptyStep(day)] = await rows.read(query, label);
    await tx.query(
      `insert into label_sums (account_id, label, at, state, names, sums)
       values ($1, $2, $3, $4, $5, $6)
       on conflict (account_id, label, at)
         do update set state = excluded.state, names = excluded.names, sums = excluded.sums`,
      [
        accountId,
        label,
        day,
        stored.state,
        sanitizeText(JSON.stringify(step.values)),
        packSums(step),
      ],
    );
  }
}

const dayMs = 86_400_000;

/** Of a day whose calls are all erased. */
function emptyStep(at: Date): LabelStep {
  return { at, values: [], sums: {} };
}
