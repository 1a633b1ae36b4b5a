import {
  type DataTable,
  dataTables,
  type Deletion,
  type DeletionRequest,
  type DeletionStore,
  manyDeletions,
  maxWaitingDeletions,
  type Selectors,
} from "../deletion.ts";
import { parseExactly } from "../../base/exact_json.ts";
import { type Tombstone, tombstoneOf } from "../tombstone.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import { enqueueEvents } from "../../webhooks/store/enqueue.ts";
import { databaseNow, fromNow } from "../../database/from_now.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { eraseBatch, type Erased, type RecordStores } from "./erasure.ts";
import { countScope } from "./erasure_count.ts";
import { scopeOf } from "./erasure_sql.ts";
import { latestOutcome } from "./erase_outcomes.ts";
import { createErasureFeed } from "./erasure_feed.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { noteDirty } from "./vacuum.ts";
import { hasTombstone, insertTombstone, readTombstone, sweepErased } from "./tombstones.ts";
import { lockForErasure } from "../../database/erasure_lock.ts";
import {
  Claims,
  fewestFirst,
  firstParam,
  withoutClaim,
  type WorkTable,
} from "../../work_queue/store/claims.ts";

const work: WorkTable = {
  name: "deletions",
  key: "deletion_id",
  owner: "holder",
  until: "held_until",
  isOpen: "completed_at is null",
  claimMs: 60_000,
};

/**
 * Builds the store. `newSalt` returns a fresh random text; `workerId` identifies this start of the
 * process in claims.
 */
export function createDeletions(
  stores: RecordStores,
  { newSalt, workerId }: { newSalt: () => string; workerId: string },
): DeletionStore {
  const { main, analytics } = stores;
  return {
    async count(request) {
      const tombstone = await tombstoneNow(stores, request, "");
      return await countScope(stores, scopeOf(tombstone, request.selectors));
    },
    async add(request, as = "queued") {
      const stored = { ...request, selectors: storedSelectors(request.selectors) };
      if (as === "queued") await requireRoom(main, request.accountId);
      const tombstone = await tombstoneNow(stores, stored, newSalt());
      await main.transaction(async (tx) => {
        await writeAudit(tx, request.audit);
        // Late, since writers wait while the lock is held, but before the time of a claim begins.
        await lockForErasure(tx);
        await insertDeletion(tx, stored, tombstone, as === "claimed" ? workerId : null);
        await insertTombstone(tx, tombstone);
      });
      return tombstone;
    },
    async restore(tombstone) {
      const hasLostRows = await analytics.hasLost(tombstone);
      const isNeeded = hasLostRows || !await hasTombstone(main, tombstone.deletionId);
      // Each start asks for every deletion there was, so the lock is taken only where one is lost.
      const isLost = isNeeded && await main.transaction(async (tx) => {
        await lockForErasure(tx);
        const isNew = await insertTombstone(tx, tombstone);
        return (isNew || hasLostRows) && await requeue(tx, tombstone);
      });
      // Last, so that a start that is cut off before this asks again.
      await analytics.addTombstone(tombstone);
      return isLost;
    },
    ...claimsOf(main, workerId),
    async expect({ tombstone, selectors }) {
      const counts = await countScope(stores, scopeOf(tombstone, selectors));
      await main.query(
        `update deletions set expected_count = interactions + eval_runs + eval_results + $2::bigint
         where deletion_id = $1 and expected_count is null`,
        [
          tombstone.deletionId,
          dataTables.reduce((sum, table) => sum + counts[table], 0),
        ],
      );
    },
    eraseBatch: ({ tombstone, selectors }, from) =>
      eraseBatch(stores, scopeOf(tombstone, selectors), {
        from,
        note: (tx, erased) => note(tx, tombstone.deletionId, erased),
      }),
    async erasedSpan(deletionId) {
      const [row] = await main.query("select * from deletions where deletion_id = $1", [
        deletionId,
      ]);
      if (!row || row.erased_from === null) return undefined;
      const tables = dataTables.filter((table) => Number(row[table]) > 0);
      return { tables, from: row.erased_from as Date, to: row.erased_to as Date };
    },
    finish: (deletionId) => main.transaction((tx) => finish(tx, deletionId)),
    ...receiptsOf(main),
    ...{ changeFeed: () => createErasureFeed(main), now: () => databaseNow(main) },
    async sweep() {
      await sweepErased(main);
      await analytics.sweepErased();
    },
  };
}

/** How far apart the clocks of replicas may be. */
const clocksApartMs = 5 * 60_000;
const maxAhead = 10_000;

/**
 * Builds the tombstone of a deletion that is requested now. It covers every matching call stored so
 * far, even those with a later time because they arrived at a replica whose clock is ahead, and
 * their outcomes, which have the time of the database's clock.
 */
async function tombstoneNow(
  { main, analytics }: RecordStores,
  request: DeletionRequest,
  salt: string,
): Promise<Tombstone> {
  const tombstone = tombstoneOf(request, salt);
  const { before, start } = tombstone;
  const until = new Date(before.getTime() + clocksApartMs);
  const ahead = { ...tombstone, start: start && start > before ? start : before, before: until };
  const latest = (await analytics.matched(scopeOf(ahead, request.selectors), maxAhead)).at(-1);
  const outcomeAt = await latestOutcome(main, tombstone, until);
  return { ...tombstone, before: newer(newer(before, latest?.createdAt), outcomeAt) };
}

function newer(one: Date, other: Date | undefined): Date {
  return other && other > one ? other : one;
}

/**
 * Completes a deletion. The audit entry of the result is written under the person who requested it,
 * in the same transaction and so only once.
 */
async function finish(tx: Queryable, deletionId: string): Promise<void> {
  const [done] = await tx.query(
    `update deletions set state = 'done', selectors = null, ${withoutClaim(work)},
       completed_at = clock_timestamp()
     where deletion_id = $1 and completed_at is null returning *`,
    [deletionId],
  );
  if (!done) return;
  const { accountId, counts, completedAt } = readDeletion(done);
  await enqueueEvents(tx, [{
    ...{ accountId, key: `deletion ${deletionId}`, type: "deletion.done", at: completedAt! },
    data: { request_id: deletionId, counts },
  }]);
  const [asked] = await tx.query(
    `select person_id, actor from audit_log
     where subject = $1 and action = 'data.deleted' and account_id = $2 order by id limit 1`,
    [deletionId, accountId],
  );
  if (!asked) return;
  await writeAudit(tx, {
    accountId,
    actor: { personId: asked.person_id as string | null, name: String(asked.actor) },
    action: "data.deletion_done",
    subject: deletionId,
    detail: dataTables.map((table) => `${table}: ${counts[table]}`).join(", "),
    at: completedAt!,
  });
}

function claimsOf(
  main: Database,
  workerId: string,
): Pick<DeletionStore, "claim" | "renew" | "postpone" | "release"> {
  const claims = new Claims(main, work, workerId);
  const unclaim = async (deletionId: string, claimableFrom: string) => {
    await main.query(
      `update deletions set state = 'queued', holder = null, held_until = ${claimableFrom}
       where deletion_id = $1 and holder = $2 and completed_at is null`,
      [deletionId, workerId],
    );
  };
  return {
    async claim({ deletions = [], accounts = [] } = {}) {
      const [claimed] = await claims.claim({
        ...nextDeletion,
        except: deletions,
        params: [accounts],
      });
      if (!claimed) return undefined;
      const [row] = await main.query("select * from tombstones where deletion_id = $1", [
        String(claimed.deletion_id),
      ]);
      return { tombstone: readTombstone(row!), selectors: readSelectors(claimed.selectors) };
    },
    renew: async (deletionIds) => new Set((await claims.renew(deletionIds)).keys()),
    postpone: (deletionId) =>
      unclaim(
        deletionId,
        "clock_timestamp() + least(power(2, least(attempts, 9)), 300) * interval '1 second'",
      ),
    release: (deletionId) => unclaim(deletionId, "null"),
  };
}

function receiptsOf(main: Database): Pick<DeletionStore, "find" | "list" | "waiting"> {
  return {
    async find(accountId, deletionId) {
      const [row] = await main.query(
        "select * from deletions where account_id = $1 and deletion_id = $2",
        [accountId, sanitizeText(deletionId)],
      );
      return row && readDeletion(row);
    },
    async list(accountId, { limit, after }) {
      const rows = await main.query(
        `select * from deletions where account_id = $1 and ($3::timestamptz is null or
           (requested_at, deletion_id) < ($3::timestamptz, $4::text))
         order by requested_at desc, deletion_id desc limit $2`,
        [accountId, limit, after?.requestedAt ?? null, after?.deletionId ?? null],
      );
      return rows.map(readDeletion);
    },
    async waiting() {
      const [row] = await main.query(
        `select count(*) as count, min(requested_at) as oldest from deletions
         where completed_at is null`,
        [],
      );
      return { count: Number(row!.count), oldest: row!.oldest as Date | null };
    },
  };
}

/** Concurrent requests may exceed the limit a little: it only keeps queues short. */
async function requireRoom(main: Database, accountId: number): Promise<void> {
  const rows = await main.query(
    `select 1 as one from deletions where account_id = $1 and completed_at is null
     limit ${maxWaitingDeletions}`,
    [accountId],
  );
  if (rows.length >= maxWaitingDeletions) throw manyDeletions();
}

async function insertDeletion(
  tx: Queryable,
  request: DeletionRequest,
  { selectorsHash }: Tombstone,
  workerId: string | null,
): Promise<void> {
  await tx.query(
    `insert into deletions (deletion_id, account_id, state, selectors, selectors_hash, reason,
       requested_at, attempts, holder, held_until)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text,
       case when $9::text is not null then ${fromNow(work.claimMs)} end)`,
    [
      request.deletionId,
      request.accountId,
      workerId === null ? "queued" : "running",
      JSON.stringify(request.selectors),
      selectorsHash,
      sanitizeText(request.reason),
      request.requestedAt,
      workerId === null ? 0 : 1,
      workerId,
    ],
  );
}

/**
 * Queues a deletion again whose tombstone, and maybe receipt, the store has lost. Returns false for
 * one that is still to be done: the calls' database gets its tombstone only when its erasing begins.
 */
async function requeue(tx: Queryable, stone: Tombstone): Promise<boolean> {
  const rows = await tx.query(
    `insert into deletions (deletion_id, account_id, state, selectors_hash, reason, requested_at)
     values ($1, $2, 'queued', $3, 'Applied again: the store was restored.', $4)
     on conflict (deletion_id) do update set state = 'queued', completed_at = null
       where deletions.completed_at is not null
     returning deletion_id`,
    [stone.deletionId, stone.accountId, stone.selectorsHash, stone.before],
  );
  return rows.length > 0;
}

/**
 * The oldest deletion of the account with the fewest recent ones. Each kind of them is found by its
 * own index, once for all accounts.
 */
const nextDeletion = {
  set: "state = 'running', attempts = attempts + 1",
  where: `account_id <> all($${firstParam}::bigint[])`,
  orderBy: `${
    fewestFirst(
      `select account_id from deletions where completed_at is null and attempts > 0
       union all
       select account_id from deletions
       where completed_at > now() - interval '1 hour' and attempts > 0`,
    )
  }, requested_at`,
  returning: "deletion_id, selectors",
};

/** Adds what a step erased to the deletion's row. */
async function note(
  tx: Queryable,
  deletionId: string,
  { counts, from, to, relations }: Erased,
): Promise<void> {
  await tx.query(
    `update deletions set interactions = interactions + $2::bigint,
       eval_runs = eval_runs + $3::bigint, eval_results = eval_results + $4::bigint,
       erased_from = least(erased_from, $5::timestamptz),
       erased_to = greatest(erased_to, $6::timestamptz)
     where deletion_id = $1`,
    [
      deletionId,
      counts.interactions,
      counts.eval_runs,
      counts.eval_results,
      from,
      to,
    ],
  );
  await noteDirty(tx, relations);
}

/** Sanitizes the selectors like stored columns, so that hashes are of the same text. */
function storedSelectors(selectors: Selectors): Selectors {
  const stored = (ids: readonly string[]) => ids.map((id) => sanitizeText(id));
  return {
    ...selectors,
    ...(selectors.transactionIds ? { transactionIds: stored(selectors.transactionIds) } : {}),
    ...(selectors.sessionIds ? { sessionIds: stored(selectors.sessionIds) } : {}),
    ...(selectors.userIds ? { userIds: stored(selectors.userIds) } : {}),
  };
}

function readSelectors(text: unknown): Selectors | null {
  if (text === null) return null;
  const { start, end, ...rest } = parseExactly(String(text)) as Selectors;
  return {
    ...rest,
    ...(start ? { start: new Date(start) } : {}),
    ...(end ? { end: new Date(end) } : {}),
  };
}

function readDeletion(row: SqlRow): Deletion {
  const count = (table: DataTable) => Number(row[table]);
  return {
    deletionId: String(row.deletion_id),
    accountId: Number(row.account_id),
    state: row.state as Deletion["state"],
    counts: {
      interactions: count("interactions"),
      eval_runs: count("eval_runs"),
      eval_results: count("eval_results"),
    },
    expectedCount: row.expected_count === null ? null : Number(row.expected_count),
    selectorsHash: String(row.selectors_hash),
    reason: row.reason as string | null,
    requestedAt: row.requested_at as Date,
    completedAt: row.completed_at as Date | null,
    attempts: Number(row.attempts),
  };
}
