import { writeAudit } from "../../audit/store/audit.ts";
import type { Database, Queryable, SqlRow, SqlValue } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { createTurns } from "../../database/turns.ts";
import {
  type Budget,
  type BudgetChange,
  budgetLimits,
  type BudgetListQuery,
  type BudgetPeriod,
  type BudgetScope,
  budgetScopeText,
  type BudgetSpan,
  type BudgetStore,
  type ChangedLimits,
  limitAt,
  type NewBudget,
  periodStart,
  type ReachedBudget,
  type StoredBudget,
} from "../budget.ts";
import { createBudgetLeases, deletePeriods, lockPeriods, readPeriod } from "./budget_leases.ts";

const columns =
  "b.id, b.account_id, b.scope, b.name, b.per, b.limit_nanos, b.raised_nanos, b.raised_until";

/** Budgets on PostgreSQL, served or embedded. */
export function createBudgetStore(database: Database): BudgetStore {
  return {
    async set(id, budget, { now, prior, audit }) {
      const startsAt = periodStart(budget.per, now);
      // Read first, so that a budget isn't left without it where that fails.
      const spentNanos = await hasBudget(database, budget) ? 0n : await prior(startsAt);
      const row = await database.transaction(async (tx) => {
        const written = await write(tx, id, budget);
        if (written?.id === id) await addSpent(tx, { budgetId: id, startsAt }, spentNanos);
        if (written) {
          await lowerNotified(tx, readBudget(written), now);
          await writeAudit(tx, audit?.(readBudget(written)));
        }
        return written;
      });
      if (!row) return undefined;
      const stored = readBudget(row);
      if (stored.id === id) await countMissing(database, { budgetId: id, startsAt }, prior);
      const [listed] = await list(database, { id: stored.id, now });
      // One that was removed since then was set all the same.
      return listed ?? { ...stored, createdAt: row.created_at as Date, spentNanos };
    },
    async change(id, limits, { now, audit }) {
      const written = await database.transaction(async (tx) => {
        const row = await writeLimits(tx, id, limits);
        if (row) {
          await lowerNotified(tx, readBudget(row), now);
          await writeAudit(tx, audit?.(readBudget(row)));
        }
        return row;
      });
      return written && (await list(database, { id, now }))[0];
    },
    remove: (id, { accountId, audit }) =>
      database.transaction(async (tx) => {
        const [before] = await tx.query(
          `select ${columns} from budgets b where id = $1 and removed_at is null
             and ($2::bigint is null or account_id = $2::bigint) for update`,
          [id, accountId ?? null],
        );
        if (!before) return undefined;
        await tx.query(
          `update budgets set name = '', removed_at = clock_timestamp(),
             changed_at = clock_timestamp() where id = $1`,
          [id],
        );
        const removed = readBudget(before);
        await writeAudit(tx, audit?.(removed));
        return removed;
      }),
    list: (query) => list(database, query),
    async cursorOf(id) {
      const [row] = await database.query(`select ${columns} from budgets b where id = $1`, [id]);
      return row && readBudget(row);
    },
    fullest: createFullestCheck(database),
    changedSince: (since) => changedSince(database, since),
    async sweep(...limits) {
      for (let isDone = false; !isDone;) {
        isDone = await database.transaction((tx) => sweep(tx, ...limits));
      }
    },
    ...createBudgetLeases(database),
  };
}

/**
 * Locks the periods first, in the common order, since leases may still be renewed. What is added
 * meanwhile, such as the period of a late call, or locked by others, is left to the next sweep.
 * False if there are more charges of these periods: another transaction continues.
 */
async function sweep(tx: Queryable, removedMinutes: number, before: Date): Promise<boolean> {
  const removed = await tx.query(
    `select id from budgets where removed_at is not null
       and changed_at < now() - make_interval(mins => $1::int)`,
    [removedMinutes],
  );
  const ids = removed.map(({ id }) => String(id));
  const rows = await tx.query(
    `select budget_id, starts_at from budget_periods where budget_id = any($1::text[])
     union (
       select budget_id, starts_at from budget_periods where starts_at < $2
       order by starts_at limit ${sweptPeriods}
     )`,
    [ids, before],
  );
  const free = await lockPeriods(tx, rows.map(readPeriod), "skip locked");
  if (!await deletePeriods(tx, free.map(readPeriod))) return false;
  await tx.query(
    `delete from budgets where id = any(array(
       select id from budgets b where id = any($1::text[])
         and not exists (select from budget_periods p where p.budget_id = b.id)
       order by id for update skip locked))`,
    [ids],
  );
  return true;
}

/** The most periods that end a sweep: each is locked. */
const sweptPeriods = 5_000;

/** Inserts or replaces a budget and returns its row; undefined where the account has too many. */
async function write(
  tx: Queryable,
  id: string,
  { accountId, scope, per, limitNanos, raised }: NewBudget,
): Promise<SqlRow | undefined> {
  // Locked, so that budgets made at the same moment are counted one after the other.
  await tx.query("select id from accounts where id = $1 for no key update", [accountId]);
  const [row] = await tx.query(
    `insert into budgets as b
       (id, account_id, scope, name, per, limit_nanos, raised_nanos, raised_until)
     select $1::text, $2::bigint, $3::text, $4::text, $5::text, $6::bigint, $7::bigint,
       $8::timestamptz
     where (select count(*) from budgets
         where account_id = $2::bigint and removed_at is null) < $9
       or exists (select from budgets where account_id = $2::bigint and scope = $3::text
         and name = $4::text and per = $5::text and removed_at is null)
     on conflict (account_id, scope, name, per) where removed_at is null
     do update set limit_nanos = excluded.limit_nanos, raised_nanos = excluded.raised_nanos,
       raised_until = excluded.raised_until, changed_at = clock_timestamp()
     returning ${columns}, b.created_at`,
    [
      ...[id, accountId, scope.kind, sanitizeText(scope.name), per, limitNanos],
      ...[raised?.nanos ?? null, raised?.until ?? null, budgetLimits.perAccount],
    ],
  );
  return row;
}

async function writeLimits(
  tx: Queryable,
  id: string,
  { limitNanos, raised }: ChangedLimits,
): Promise<SqlRow | undefined> {
  const [row] = await tx.query(
    `update budgets as b set limit_nanos = coalesce($2::bigint, limit_nanos),
       raised_nanos = case when $3::boolean then $4::bigint else raised_nanos end,
       raised_until = case when $3::boolean then $5::timestamptz else raised_until end,
       changed_at = clock_timestamp()
     where id = $1 and removed_at is null returning ${columns}`,
    [id, limitNanos ?? null, raised !== undefined, raised?.nanos ?? null, raised?.until ?? null],
  );
  return row;
}

async function hasBudget(
  database: Queryable,
  { accountId, scope, per }: NewBudget,
): Promise<boolean> {
  const rows = await database.query(
    `select from budgets where account_id = $1 and scope = $2 and name = $3 and per = $4
       and removed_at is null`,
    [accountId, scope.kind, sanitizeText(scope.name), per],
  );
  return rows.length > 0;
}

/**
 * Adds what the period's calls were charged between the sum of earlier ones and the budget's first
 * moment. Calls charged between the two reads count twice: a sum that is too high is safer than one
 * that is too low.
 */
async function countMissing(
  database: Database,
  period: BudgetPeriod,
  prior: (since: Date) => Promise<bigint>,
): Promise<void> {
  const [row] = await database.query(
    "select spent_nanos from budget_periods where budget_id = $1 and starts_at = $2",
    [period.budgetId, period.startsAt],
  );
  const counted = row?.spent_nanos as bigint | undefined ?? 0n;
  await addSpent(database, period, await prior(period.startsAt) - counted);
}

async function addSpent(
  database: Queryable,
  { budgetId, startsAt }: BudgetPeriod,
  nanos: bigint,
): Promise<void> {
  if (nanos <= 0n) return;
  await database.query(
    `insert into budget_periods as p (budget_id, starts_at, spent_nanos) values ($1, $2, $3)
     on conflict (budget_id, starts_at)
     do update set spent_nanos = p.spent_nanos + excluded.spent_nanos`,
    [budgetId, startsAt, nanos],
  );
}

interface ListQuery extends BudgetListQuery {
  /** Only these budgets, and so many in the order of ids. */
  readonly among?: {
    readonly ids: readonly string[];
    readonly from: string;
    readonly count: number;
  };
}

async function list(
  database: Queryable,
  { accountId, now, id, among, on, search, after, limit }: ListQuery,
  order = "b.account_id, b.scope, b.name, b.per",
): Promise<StoredBudget[]> {
  const values: SqlValue[] = [periodStart("day", now), periodStart("month", now)];
  const bind = (...some: SqlValue[]) => some.map((one) => `$${values.push(one)}`).join(", ");
  const keyOf = ({ scope, per }: Pick<Budget, "scope" | "per">) =>
    bind(scope.kind, sanitizeText(scope.name), per);
  const conditions = ["b.removed_at is null"];
  // No index serves a sum: without statistics, the planner would read all of the account for an id.
  const account = id === undefined ? "b.account_id" : "(b.account_id + 0)";
  if (accountId !== undefined) conditions.push(`${account} = ${bind(accountId)}`);
  if (id !== undefined) conditions.push(`b.id = ${bind(id)}`);
  const from = among === undefined ? "budgets" : `(
    (select * from budgets where id > ${bind(among.from)} order by id limit ${bind(among.count)})
    union select * from budgets where id = any(${bind(among.ids)}::text[]))`;
  if (on) conditions.push(`(b.scope, b.name, b.per) = (${keyOf(on)})`);
  if (search !== undefined) {
    const text = "lower(b.scope || ':' || b.name)";
    conditions.push(`strpos(${text}, lower(${bind(sanitizeText(search))}::text)) > 0`);
  }
  if (after) {
    const key = `${bind(after.accountId)}, ${keyOf(after)}`;
    conditions.push(`(b.account_id, b.scope, b.name, b.per) > (${key})`);
  }
  const rows = await database.query(
    `select ${columns}, b.created_at, coalesce(p.spent_nanos, 0) as spent
     from ${from} b left join lateral (
       select * from budget_periods p where p.budget_id = b.id
         and p.starts_at = case b.per when 'day' then $1::timestamptz else $2::timestamptz end
       offset 0
     ) p on true
     where ${conditions.join(" and ")}
     order by ${order} nulls last limit ${bind(limit ?? null)}::bigint`,
    values,
    // A plan for any number of rows sorts all budgets.
    { forceCustomPlan: true },
  );
  return rows.map((row) => ({
    ...readBudget(row),
    createdAt: row.created_at as Date,
    spentNanos: row.spent as bigint,
  }));
}

async function changedSince(
  database: Queryable,
  since: Date | null,
): Promise<{ now: Date; changes: BudgetChange[] }> {
  const rows = await database.query(
    `select n.now, ${columns}, b.removed_at
     from (select clock_timestamp() as now) n
     left join budgets b on b.changed_at >= coalesce($1::timestamptz, '-infinity')
       and ($1::timestamptz is not null or b.removed_at is null)`,
    [since],
  );
  return {
    now: rows[0]!.now as Date,
    changes: rows.filter(({ id }) => id !== null).map((row) =>
      row.removed_at === null
        ? readBudget(row)
        : { id: String(row.id), accountId: Number(row.account_id) }
    ),
  };
}

function readBudget(row: SqlRow): Budget {
  return {
    id: String(row.id),
    accountId: Number(row.account_id),
    scope: { kind: row.scope as BudgetScope["kind"], name: String(row.name) },
    per: row.per as BudgetSpan,
    limitNanos: row.limit_nanos as bigint,
    raised: row.raised_nanos === null
      ? null
      : { nanos: row.raised_nanos as bigint, until: row.raised_until as Date },
  };
}

/**
 * Removes budgets on these end users, whose data is erased; part of the erasure's transaction.
 * Users are identified as in tombstones, by salted hashes.
 */
export async function eraseUserBudgets(tx: Queryable, { accountId, salt, userHashes }: {
  accountId: number;
  salt: string;
  userHashes: readonly string[];
}): Promise<void> {
  await tx.query(
    `update budgets set name = '', removed_at = clock_timestamp(), changed_at = clock_timestamp()
     where account_id = $1 and scope = 'user' and removed_at is null
       and encode(sha256(convert_to($2::text || name, 'UTF8')), 'hex') = any($3::text[])`,
    [accountId, salt, userHashes],
  );
}

/** Returns a budget's scope for display; undefined for a removed budget. */
export async function readBudgetScopeText(
  database: Queryable,
  id: string,
): Promise<string | undefined> {
  const [row] = await database.query(
    `select ${columns} from budgets b where b.id = $1 and b.removed_at is null`,
    [id],
  );
  return row && budgetScopeText(readBudget(row).scope);
}

const reachedPercents = [80, 95, 100] as const;
/** For how long a period that has ended is still checked. */
const endedMs = 10 * 60_000;

/**
 * Lets webhooks be notified again of percentages that the current period has not reached of a limit
 * that has just been set.
 */
async function lowerNotified(tx: Queryable, budget: Budget, now: Date): Promise<void> {
  await tx.query(
    `update budget_periods set notified_percent = coalesce((
       select max(percent) from unnest($4::integer[]) percent
       where percent <= notified_percent and spent_nanos * 100::numeric >= $3::bigint * percent::numeric
     ), 0)
     where budget_id = $1 and starts_at = $2 and notified_percent > 0`,
    [budget.id, periodStart(budget.per, now), limitAt(budget, now), reachedPercents],
  );
}

/** How many budgets one look checks: there may be ten thousand of each account. */
const budgetsAtOnce = 2_000;

/** A period whose budget has reached a percentage. */
export interface ReachedPeriod extends BudgetPeriod {
  readonly accountId: number;
}

/**
 * Builds the function that lists the periods of budgets that have reached percentages not
 * claimed yet, of so many budgets at a time.
 */
export function createReachedCheck(
  database: Queryable,
  atOnce = budgetsAtOnce,
): (now: Date) => Promise<ReachedPeriod[]> {
  const nextTurn = createTurns(database, "budgets", atOnce);
  return async (now) => await findReached(database, { now, from: await nextTurn(), atOnce });
}

/**
 * Builds the function that lists the fullest budgets: of those that it listed last and so many
 * others at a time.
 */
export function createFullestCheck(
  database: Queryable,
  atOnce = budgetsAtOnce,
): BudgetStore["fullest"] {
  const nextTurn = createTurns(database, "budgets", atOnce);
  let ids: readonly string[] = [];
  return async (now, limit) => {
    const among = { ids, from: await nextTurn(), count: atOnce };
    const fullest = await list(
      database,
      { now, limit, among },
      "p.spent_nanos::numeric / greatest(b.limit_nanos, 1) desc",
    );
    ids = fullest.map(({ id }) => id);
    return fullest;
  };
}

async function findReached(
  database: Queryable,
  { now, from, atOnce }: { now: Date; from: string; atOnce: number },
): Promise<ReachedPeriod[]> {
  const before = new Date(now.getTime() - endedMs);
  const starts = (per: BudgetSpan) => [periodStart(per, now), periodStart(per, before)];
  const rows = await database.query(
    `select ${columns}, b.id as budget_id, p.starts_at, p.spent_nanos, p.notified_percent
     from (select * from budgets where id > $3 order by id limit $4) as b
     cross join lateral (
       select * from budget_periods p
       where p.budget_id = b.id and p.spent_nanos > 0 and p.notified_percent < 100
         and p.starts_at = any(case b.per when 'day' then $1::timestamptz[]
           else $2::timestamptz[] end)
         and p.spent_nanos * 100::numeric >= least(b.limit_nanos, b.raised_nanos) * 80::numeric
       offset 0
     ) as p
     where b.removed_at is null
     order by p.budget_id, p.starts_at`,
    [starts("day"), starts("month"), from, atOnce],
    { forceCustomPlan: true },
  );
  return rows.filter((row) => reachedOf(row, readBudget(row), now).length > 0)
    .map((row) => ({ ...readPeriod(row), accountId: Number(row.account_id) }));
}

/** Claims the percentages that a budget's period has reached, each once. */
export async function claimReached(
  tx: Queryable,
  now: Date,
  { budgetId, startsAt }: BudgetPeriod,
): Promise<ReachedBudget[]> {
  const [row] = await tx.query(
    `select starts_at, spent_nanos, notified_percent from budget_periods
     where budget_id = $1 and starts_at = $2 for update`,
    [budgetId, startsAt],
  );
  // A statement of its own: a lock that waits for a change of the limit would see the former limit.
  const [stored] = await tx.query(
    `select ${columns} from budgets b where id = $1 and removed_at is null`,
    [budgetId],
  );
  if (!row || !stored) return [];
  const { id: _id, ...budget } = readBudget(stored);
  const reached = reachedOf(row, budget, now);
  if (reached.length === 0) return [];
  await tx.query(
    "update budget_periods set notified_percent = $3 where budget_id = $1 and starts_at = $2",
    [budgetId, startsAt, reached.at(-1)!.percent],
  );
  return reached.map((one) => ({ ...budget, budgetId, startsAt, ...one }));
}

/** The percentages that a row's period has reached and that weren't claimed yet. */
function reachedOf(row: SqlRow, budget: Omit<Budget, "id">, now: Date) {
  const spentNanos = row.spent_nanos as bigint;
  // A period that has ended is judged by the limit that it ended with.
  const current = periodStart(budget.per, now);
  const hasEnded = (row.starts_at as Date) < current;
  const limitNanos = limitAt(budget, hasEnded ? new Date(current.getTime() - 1) : now);
  return reachedPercents
    .filter((percent) =>
      percent > Number(row.notified_percent) && spentNanos * 100n >= limitNanos * BigInt(percent)
    )
    .map((percent) => ({ percent, limitNanos, spentNanos }));
}
