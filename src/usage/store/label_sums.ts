import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { type LabelStep, stepMs, type StepsOf, usageLabels } from "../label_step.ts";
import type { LabelSumStore, LabelSumWriter, StoredSums } from "../label_sums.ts";
import type { LabelRows } from "../label_usage.ts";
import { packStep, unpackRanks } from "../packed_step.ts";
import { createUsageSums } from "./usage_sums.ts";

/** Builds the reader of the sums that `createLabelSumWriter` stores. */
export function createLabelSums(analytics: Queryable): LabelSumStore {
  return {
    async read(of, steps) {
      const rows = await analytics.query(
        `select l.at, l.ranks, l.layout, case when ${isSmall} then l.records end as records,
           case when ${isSmall} then l.names end as names
         from unnest($4::timestamptz[], $5::text[]) as s (at, state)
           join label_steps l on ${ofSteps} and l.at = s.at and l.state = s.state
         where l.at between $6 and $7`,
        [
          ...keyOf(of),
          steps.map(({ at }) => at),
          steps.map(({ state }) => state),
          // Bounds that keep other steps from being read, even if the planner scans a range.
          ...[steps[0]!.at, steps.at(-1)!.at],
        ],
      );
      return rows.map(readStep);
    },
    async slices(of, column, slices) {
      const rows = await analytics.query(
        `select p.nth, case when p.length is null then substr(l.${column}, p.start)
           else substr(l.${column}, p.start, p.length) end as part
         from unnest($4::timestamptz[], $5::text[], $6::int[], $7::int[])
             with ordinality as p (at, state, start, length, nth)
           join label_steps l on ${ofSteps} and l.at = p.at and l.state = p.state`,
        [
          ...keyOf(of),
          slices.map(({ at }) => at),
          slices.map(({ state }) => state),
          slices.map(({ from }) => from + 1),
          slices.map(({ length }) => length ?? null),
        ],
      );
      const found = slices.map((): Uint8Array | undefined => undefined);
      for (const row of rows) found[Number(row.nth) - 1] = row.part as Uint8Array;
      return found;
    },
  };
}

/** A step with few values is read whole, which saves two statements that read parts of it. */
const isSmall = "octet_length(l.records) + octet_length(l.names) < 4096";

/** The condition for the parameters $1 to $3, which are those of `keyOf`. */
const ofSteps = "l.account_id = $1 and l.span = $2 and l.label = $3";

function keyOf({ accountId, span, label }: StepsOf) {
  return [accountId, span, label];
}

function readStep(row: SqlRow): StoredSums {
  const { at, layout, records, names } = row as Record<string, Uint8Array> & { at: Date };
  const all = records && names ? { all: { records, names } } : {};
  return { ...unpackRanks(String(row.ranks)), at, layout: layout!, ...all };
}

/** Key of the advisory lock under which one process adds up: others would only repeat it. */
const keeperLock = 7_305_112_604_920;

export function createLabelSumWriter(
  analytics: Database,
  rowsOf: (tx: Queryable) => LabelRows,
): LabelSumWriter {
  const usage = createUsageSums(analytics);
  return {
    async accounts(after, limit) {
      // The table's key begins with the account, so each is found by one step in the index.
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
    async missing(query) {
      const stored = await usage.storedSteps(query);
      const { accountId, span, from, to } = query;
      const found = await analytics.query(
        `select at, state from label_steps
         where account_id = $1 and span = $2 and at >= $3 and at < $4`,
        [accountId, span, from, to],
      );
      const states = Map.groupBy(found, (row) => (row.at as Date).getTime());
      return stored.filter(({ at, state }) => {
        const ofStep = states.get(at.getTime()) ?? [];
        return ofStep.filter((row) => row.state === state).length < usageLabels.length;
      }).map(({ at }) => at).reverse();
    },
    async store(of, at) {
      // One transaction for each label: the embedded database does nothing else meanwhile.
      for (const label of usageLabels) {
        await analytics.transaction((tx) => keepStep(tx, rowsOf(tx), { ...of, label }, at));
      }
    },
    async dropHours(accountId, before) {
      await analytics.query(
        // Skips steps that an erasure is deleting: it locks them in another order.
        `delete from label_steps where (account_id, span, label, at) in (
           select account_id, span, label, at from label_steps
           where account_id = $1 and span = 'hour' and at < $2 for update skip locked)`,
        [accountId, before],
      );
    },
  };
}

/**
 * Adds up a step and stores it, unless its calls change meanwhile. Every transaction that writes,
 * corrects or erases calls changes the step's rows in `usage_sums` too, so unchanged rows mean
 * unchanged calls. These rows are locked until the step is stored, so that a later erasure deletes
 * it; writers wait only for the storing.
 */
async function keepStep(
  tx: Queryable,
  rows: LabelRows,
  of: StepsOf,
  at: Date,
): Promise<void> {
  const [lock] = await tx.query("select pg_try_advisory_xact_lock($1) as mine", [keeperLock]);
  if (lock?.mine !== true) return;
  const { accountId, span, label } = of;
  const query = { accountId, span, from: at, to: new Date(at.getTime() + stepMs[span]) };
  const stateOf = async () => (await createUsageSums(tx).storedSteps(query))[0]?.state;
  const state = await stateOf();
  const [step = emptyStep(at)] = await rows.read(query, label);
  await tx.query(
    `select from usage_sums
     where account_id = $1 and span = $2 and part = 'all' and at = $3 order by erased for share`,
    [accountId, span, at],
  );
  if (state === undefined || await stateOf() !== state) return;
  const { ranks, layout, records, names } = packStep(step);
  await tx.query(
    `insert into label_steps
         (account_id, span, label, at, state, ranks, layout, records, names)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       on conflict (account_id, span, label, at) do update set state = excluded.state,
         ranks = excluded.ranks, layout = excluded.layout, records = excluded.records,
         names = excluded.names`,
    [...keyOf(of), at, state, ranks, layout, records, names],
  );
}

/** Returns the sums of a step whose calls are all erased. */
function emptyStep(at: Date): LabelStep {
  return { at, ids: new Uint8Array(), values: [], sums: {} };
}
