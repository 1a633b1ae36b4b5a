import { writeAudit } from "../../audit/store/audit.ts";
import type { Secret } from "../../base/secret.ts";
import {
  claimReached,
  createReachedCheck,
  type ReachedPeriod,
} from "../../budgets/store/budgets.ts";
import { readCreditLevels } from "../../credit/store/credit_history.ts";
import type { Database, Queryable, SqlRow, Transaction } from "../../database/database.ts";
import { pageByAccount } from "../../database/page_by_account.ts";
import { createTurns } from "../../database/turns.ts";
import { nanosToUsd } from "../../base/money.ts";
import type { SealedFor } from "../../keys/sealing.ts";
import {
  type NewWebhook,
  type Webhook,
  type WebhookEventType,
  webhookLimits,
  type WebhookStore,
} from "../webhook.ts";
import { createDeliveries, type Seal, type Sealer, webhookSlot } from "./deliveries.ts";
import { enqueueEvents } from "./enqueue.ts";

const columns = `w.id, w.account_id, w.url, w.events, w.credit_low_nanos, w.created_at,
  w.last_sent_at, w.last_failed_at, w.last_error, w.lost, (select count(*) from webhook_deliveries d
    where d.webhook_id = w.id and d.state = 'waiting') as waiting`;

/**
 * Builds the store on PostgreSQL, a server or embedded; `workerId` identifies this process's start.
 */
export function createWebhookStore(
  database: Database,
  { sealer, workerId }: { sealer: Sealer; workerId: string },
): WebhookStore {
  const looks = {
    database,
    findReached: createReachedCheck(database),
    nextTurn: createTurns(database, "webhooks", webhooksAtOnce),
  };
  return {
    async add(id, hook, secret, audit) {
      const seal = await sealer.open();
      const row = await database.transaction(async (tx) => {
        const written = await write(tx, seal, { id, hook, secret });
        if (written) await writeAudit(tx, audit);
        return written;
      });
      if (!row) return undefined;
      return await find(database, id);
    },
    update: (id, change, audit) =>
      database.transaction(async (tx) => {
        const { url = null, events = null, creditLowNanos } = change;
        const [before] = await tx.query(
          "select url from webhooks where id = $1 for no key update",
          [id],
        );
        if (!before) return undefined;
        await tx.query(
          `update webhooks set url = coalesce($2::text, url),
             events = coalesce($3::text[], events),
             credit_low_nanos = case when $4::boolean then $5::bigint else credit_low_nanos end
           where id = $1`,
          [id, url, events, creditLowNanos !== undefined, creditLowNanos ?? null],
        );
        if (url !== null && url !== before.url) {
          // The pauses after failures were the former address's: all is due again.
          await tx.query(
            `update webhook_deliveries set next_at = at, attempts = 0
             where webhook_id = $1 and state = 'waiting'`,
            [id],
          );
        }
        const changed = await find(tx, id);
        await writeAudit(tx, audit(changed!));
        return changed;
      }),
    remove: (id, { accountId, audit }) =>
      database.transaction(async (tx) => {
        const removed = await find(tx, id, accountId);
        if (!removed) return undefined;
        // Of two concurrent removals, only the one that deletes the row is audited.
        const deleted = await tx.query("delete from webhooks where id = $1 returning id", [id]);
        if (deleted.length === 0) return undefined;
        await writeAudit(tx, audit?.(removed));
        return removed;
      }),
    find: (...asked) => find(database, ...asked),
    async list(...asked) {
      const select = `select ${columns} from webhooks w where true`;
      return (await pageByAccount(database, { select, name: "id" }, ...asked)).map(readWebhook);
    },
    enqueue: (event, webhookId) => enqueueEvents(database, [event], webhookId),
    note: (now, down) => note(looks, now, down),
    ...createDeliveries(database, { sealer, workerId }),
  };
}

async function write(
  tx: Queryable,
  seal: Seal,
  { id, hook, secret }: { id: string; hook: NewWebhook; secret: Secret },
): Promise<SqlRow | undefined> {
  const { accountId, url, events, creditLowNanos } = hook;
  await tx.query("select id from accounts where id = $1 for no key update", [accountId]);
  const { sealed, keyVersion } = await seal(tx, secret, {
    accountId,
    vendor: webhookSlot(id),
  });
  const [row] = await tx.query(
    `insert into webhooks (id, account_id, url, events, credit_low_nanos, sealed, key_version)
     select $1::text, $2::bigint, $3::text, $4::text[], $5::bigint, $6::text, $7::bigint
     where (select count(*) from webhooks where account_id = $2::bigint) < $8
     returning id`,
    [id, accountId, url, events, creditLowNanos, sealed, keyVersion, webhookLimits.perAccount],
  );
  return row;
}

async function find(
  database: Queryable,
  id: string,
  accountId?: number,
): Promise<Webhook | undefined> {
  const [row] = await database.query(
    `select ${columns} from webhooks w
     where w.id = $1 and ($2::bigint is null or w.account_id = $2::bigint)`,
    [id, accountId ?? null],
  );
  return row && readWebhook(row);
}

function readWebhook(row: SqlRow): Webhook {
  return {
    id: String(row.id),
    accountId: Number(row.account_id),
    url: String(row.url),
    events: row.events as WebhookEventType[],
    creditLowNanos: row.credit_low_nanos as bigint | null,
    createdAt: row.created_at as Date,
    lastSentAt: row.last_sent_at as Date | null,
    lastFailedAt: row.last_failed_at as Date | null,
    lastError: row.last_error as string | null,
    waiting: Number(row.waiting),
    lost: row.lost as bigint,
  };
}

/** How long an event waits for a row that another session has locked; then it is left for the next run. */
const longestLockMs = 1_000;

/** How many webhooks one look checks for changes of credit: each account may have some. */
const webhooksAtOnce = 2_000;

/** Whether a webhook subscribes to a type of events. */
function wantsSql(type: WebhookEventType): string {
  return `(events = '{}' or '${type}' = any(events))`;
}

async function note(
  { database, findReached, nextTurn }: {
    database: Database;
    findReached: ReturnType<typeof createReachedCheck>;
    nextTurn: () => Promise<string>;
  },
  now: Date,
  down: readonly string[],
): Promise<void> {
  if ((await database.query("select from webhooks limit 1", [])).length === 0) return;
  const failures: unknown[] = [];
  // Each by itself: none stays locked while others are waited for, and one that fails, as at a row
  // that stays locked, keeps no other event from being stored.
  const store = (one: (tx: Transaction) => Promise<void>) =>
    database.transaction(async (tx) => {
      await tx.query(`set local lock_timeout = ${longestLockMs}`);
      await one(tx);
    }).catch((thrown) => void failures.push(thrown));
  for (const period of await ofSubscribers(database, await findReached(now))) {
    await store((tx) => noteBudget(tx, now, period));
  }
  const chunk = { from: await nextTurn(), atOnce: webhooksAtOnce };
  for (const { id } of await findCreditChanges(database, chunk)) {
    await store((tx) => noteCredit(tx, id, now));
  }
  for (const vendor of await findVendors(database, down, now)) {
    await store((tx) => noteVendor(tx, vendor, now));
  }
  if (failures.length > 0) throw failures[0];
}

/** Returns the periods whose account has a webhook for them. */
async function ofSubscribers(
  database: Queryable,
  periods: readonly ReachedPeriod[],
): Promise<ReachedPeriod[]> {
  if (periods.length === 0) return [];
  const rows = await database.query(
    `select id from unnest($1::bigint[]) as a(id) where exists (
       select from webhooks where account_id = a.id and ${wantsSql("budget.reached")} offset 0)`,
    [[...new Set(periods.map(({ accountId }) => accountId))]],
  );
  const subscribers = new Set(rows.map(({ id }) => Number(id)));
  return periods.filter(({ accountId }) => subscribers.has(accountId));
}

/** Claims the percentages that a budget reached, in the transaction that stores their events. */
async function noteBudget(
  tx: Queryable,
  at: Date,
  period: ReachedPeriod,
): Promise<void> {
  const reached = await claimReached(tx, at, period);
  await enqueueEvents(
    tx,
    reached.map(({ budgetId, startsAt, accountId, per, percent, limitNanos, spentNanos }) => ({
      ...{ accountId, at, type: "budget.reached" },
      key: `budget ${budgetId} ${startsAt.toISOString()} ${percent} ${limitNanos}`,
      // The app or user of the budget is added when the event is sent, unless it was erased by
      // then.
      data: {
        ...{ budget_id: budgetId, per, percent },
        ...{ limit_usd: nanosToUsd(limitNanos), spent_usd: nanosToUsd(spentNanos) },
      },
    })),
  );
}

/** Stores an event each time that a balance falls below the limit. */
async function noteCredit(tx: Queryable, webhookId: string, at: Date): Promise<void> {
  for (
    const { id, accountId, isLow, balanceNanos, limit } of await findCreditChanges(tx, {
      webhookId,
    })
  ) {
    await tx.query("update webhooks set credit_is_low = $2 where id = $1", [id, isLow]);
    if (!isLow) continue;
    await enqueueEvents(tx, [{
      ...{ accountId, at, type: "credit.low" },
      key: `credit ${at.toISOString()}`,
      data: {
        account_id: accountId,
        balance_usd: nanosToUsd(balanceNanos),
        credit_low_usd: nanosToUsd(limit),
      },
    }], id);
  }
}

/**
 * Finds webhooks whose credit has become low, or no longer is: of a portion of all, or of one, which
 * it locks.
 */
async function findCreditChanges(
  database: Queryable,
  among: { from: string; atOnce: number } | { webhookId: string },
) {
  const [webhooks, values] = "webhookId" in among
    ? ["(select * from webhooks where id = $1 for update) as w", [among.webhookId]]
    : [
      "(select * from webhooks where id > $1 order by id limit $2) as w",
      [among.from, among.atOnce],
    ];
  const hooks = await database.query(
    `select id, account_id, credit_low_nanos, credit_is_low from ${webhooks}
     where ${wantsSql("credit.low")}`,
    values,
    { forceCustomPlan: true },
  );
  const levels = await readCreditLevels(database, hooks.map((row) => Number(row.account_id)));
  return hooks.flatMap((row) => {
    const [id, accountId] = [String(row.id), Number(row.account_id)];
    const level = levels.get(accountId);
    if (!level) return [];
    const { balanceNanos } = level;
    const limit = row.credit_low_nanos as bigint | null ?? level.lastGrantNanos / 10n;
    const isLow = balanceNanos < limit;
    return isLow === row.credit_is_low ? [] : [{ id, accountId, isLow, balanceNanos, limit }];
  });
}

/** A vendor is up again when no process has seen it down for this long. */
const quietMs = 30_000;

/** Finds the vendors that are down now, and those that were and may be up again. */
async function findVendors(database: Database, down: readonly string[], at: Date) {
  const rows = await database.query(
    `select label, label = any($1::text[]) as is_seen from (
       select unnest($1::text[]) as label
       union select label from vendor_states where is_down and seen_at < $2
     ) as v order by label`,
    [down, quietSince(at)],
  );
  return rows.map((row) => ({ label: String(row.label), isSeen: row.is_seen === true }));
}

function quietSince(at: Date): Date {
  return new Date(at.getTime() - quietMs);
}

async function noteVendor(
  tx: Queryable,
  { label, isSeen }: { label: string; isSeen: boolean },
  at: Date,
): Promise<void> {
  if (isSeen) {
    await tx.query(
      `insert into vendor_states (label, is_down, seen_at) values ($1, false, $2)
       on conflict do nothing`,
      [label, at],
    );
  }
  const turned = await tx.query(
    `with seen as (
       select label, is_down from vendor_states
       where label = $1 and ($2::boolean or is_down and seen_at < $4) for update
     ), changed as (
       update vendor_states v set is_down = $2,
         seen_at = case when $2 then greatest(v.seen_at, $3) else v.seen_at end
       from seen s where v.label = s.label
     )
     select from seen where is_down <> $2`,
    [label, isSeen, at, quietSince(at)],
  );
  if (turned.length === 0) return;
  await enqueueEvents(tx, [{
    ...{ accountId: "first", at, type: isSeen ? "vendor.down" : "vendor.up" },
    key: `vendor ${label} ${isSeen} ${at.toISOString()}`,
    data: { vendor: label },
  }]);
}

/**
 * Reseals all secrets, as part of the transaction that changes the master key. Returns their
 * number.
 */
export async function resealWebhooks(
  tx: Queryable,
  reseal: (sealed: string, slot: SealedFor) => { sealed: string; keyVersion: bigint },
): Promise<number> {
  const rows = await tx.query(
    "select id, account_id, sealed, key_version from webhooks order by id for update",
    [],
  );
  for (const row of rows) {
    const { sealed, keyVersion } = reseal(String(row.sealed), {
      accountId: Number(row.account_id),
      vendor: webhookSlot(String(row.id)),
      keyVersion: row.key_version as bigint,
    });
    await tx.query("update webhooks set sealed = $2, key_version = $3 where id = $1", [
      ...[String(row.id), sealed, keyVersion],
    ]);
  }
  return rows.length;
}
