import { parseExactly } from "../../base/exact_json.ts";
import type { Secret } from "../../base/secret.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { deletedAtOnce, deleteInChunks } from "../../database/delete_in_chunks.ts";
import { readBudgetScopeText } from "../../budgets/store/budgets.ts";
import { type SealedFor, UnsealError } from "../../keys/sealing.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { whenUnlocked } from "../../database/when_unlocked.ts";
import { Claims, withoutClaim, type WorkTable } from "../../work_queue/store/claims.ts";
import type {
  DeliveryOutcome,
  WebhookDelivery,
  WebhookEventType,
  WebhookStore,
} from "../webhook.ts";

/** Seals a value in the transaction that stores it. Throws an Error with a one-line message. */
export type Seal = (
  tx: Queryable,
  value: Secret,
  slot: Omit<SealedFor, "keyVersion">,
) => Promise<{ sealed: string; keyVersion: bigint }>;

/** Seals and unseals values under the current master key. */
export interface Sealer {
  /**
   * Opens the master key, for which a command reads the database: to be called before a transaction,
   * since the embedded database has one session. Throws an Error with a one-line message.
   */
  open(): Promise<Seal>;
  /** Throws `UnsealError`. */
  unseal(sealed: string, slot: SealedFor): Promise<Secret>;
}

/** Names the place of a webhook's secret, to which its seal is bound. */
export function webhookSlot(id: string): string {
  return `webhook ${id}`;
}

const work: WorkTable = {
  name: "webhook_deliveries",
  key: "id",
  owner: "owner",
  until: "claimed_until",
  // Not `state = 'waiting'`, the condition of partial indexes: without statistics the planner would
  // read one of these, with all waiting events, instead of looking up a few by id.
  isOpen: "state not in ('sent', 'lost')",
  claimMs: 60_000,
};

/** Key of the advisory lock under which an event is claimed. */
const claimLock = 7_305_112_604_919;

/**
 * The event of each webhook that is claimed or, if none is, due first: one step of the index
 * `webhook_deliveries_next` per webhook, however many events wait for it.
 */
const heads = `with recursive heads as (
    (${headAfter("")})
    union all
    select next.* from heads cross join lateral (${
  headAfter("and webhook_id > heads.webhook_id")
}) next
  )`;

function headAfter(condition: string): string {
  return `select id, webhook_id, attempts, next_at, claimed_until from webhook_deliveries
    where state = 'waiting' ${condition}
    order by webhook_id, claimed_until, next_at, seq limit 1`;
}

/** The account of each event that is being sent. */
const busyAccounts = `${heads} select w.account_id from heads join webhooks w on w.id = webhook_id
  where claimed_until > clock_timestamp()`;

const nextEvent = {
  // A receiver is sent one event at a time: a webhook whose head is claimed has no other. A new event
  // is due by any clock: a deletion and an export date theirs by the database's. So is one whose
  // pause is twice as long as any: the clock was set back.
  where: `work.id = any(array(${heads} select id from heads
      where next_at <= $3 or attempts = 0 or next_at - interval '8 hours' > $3))
    and work.webhook_id <> all($4::text[])`,
  // Accounts to which fewer events are being sent come first, and of an account's receivers those
  // that fail last: otherwise receivers that are slow or hang would take all turns.
  orderBy: `cardinality(array_positions(array(${busyAccounts}), (
    select account_id from webhooks w where w.id = work.webhook_id
  ))), work.webhook_id in (
    select id from webhooks where last_failed_at > coalesce(last_sent_at, '-infinity')
  ), work.next_at, work.seq`,
  returning: "id, webhook_id, type, data, at, ends_at",
};

/** Builds the store of deliveries. Claims go by the database's clock, pauses by the processes'. */
export function createDeliveries(
  database: Database,
  { sealer, workerId }: { sealer: Sealer; workerId: string },
): Pick<WebhookStore, "claim" | "renew" | "finish" | "release" | "sweep"> {
  const claims = new Claims(database, work, workerId);
  const markLost = async (id: string) => {
    await database.query(
      `update webhook_deliveries set state = 'lost', ${withoutClaim(work)} where id = $1`,
      [id],
    );
  };
  const release = async (id: string) => {
    await database.query(
      `update webhook_deliveries set ${withoutClaim(work)} where id = $1 and owner = $2`,
      [id, workerId],
    );
  };
  /** Webhooks whose secrets this process can't unseal → when it tries again. */
  const sealedUntil = new Map<string, number>();
  return {
    async claim(now, except) {
      for (const [id, ms] of sealedUntil) if (ms <= now.getTime()) sealedUntil.delete(id);
      for (;;) {
        const params = [now, [...sealedUntil.keys()]];
        const query = { ...nextEvent, except, params };
        const [row] = await claims.claimInTurn(query, claimLock);
        if (!row) return undefined;
        const delivery = await complete(database, sealer, row);
        if (delivery === "gone") await markLost(String(row.id));
        else if (delivery === "unreadable") {
          sealedUntil.set(String(row.webhook_id), now.getTime() + sealedMs);
          await release(String(row.id));
        } else return delivery;
      }
    },
    async renew(deliveries) {
      return new Set((await claims.renew(deliveries.map(({ id }) => id))).keys());
    },
    // An attempt whose end is lost would be made again.
    finish: (delivery, attempted) =>
      whenUnlocked(() => finish(database, workerId, delivery, attempted)),
    release: ({ id }) => release(id),
    async sweep(now) {
      // Skips events that are being removed together with their webhook.
      await deleteInChunks(
        database,
        `delete from webhook_deliveries where id = any(array(
           select id from webhook_deliveries where state <> 'waiting' and ends_at < $1
           order by ends_at limit ${deletedAtOnce} for update skip locked)) returning 1 as one`,
        [new Date(now.getTime() - keepMs)],
      );
    },
  };
}

async function finish(
  database: Queryable,
  workerId: string,
  { id, webhookId, url }: WebhookDelivery,
  attempted: DeliveryOutcome,
): ReturnType<WebhookStore["finish"]> {
  const failed = attempted.kind === "failed" ? attempted : undefined;
  const state = failed ? failed.nextAt === null ? "lost" : "waiting" : "sent";
  // Locks the webhook's row before the event's, like a removal, so that the two can't deadlock. An
  // attempt that fails at a former address leaves the event due, as the change of the address does,
  // and isn't shown as a failure of the new one.
  const [ended] = await database.query(
    `with hook as (
           select url = $8 as is_same from webhooks where id = $5 for no key update
         ), ended as (
           update webhook_deliveries set attempts = attempts + is_same::int,
             state = case when is_same or $7::text is null then $3 else 'waiting' end,
             next_at = coalesce(case when is_same then $4::timestamptz end, next_at),
             ${withoutClaim(work)}
           from hook where id = $1 and owner = $2 returning state
         )
         update webhooks set lost = lost + (select count(*) from ended where state = 'lost'),
           last_sent_at = case when $7::text is null then $6 else last_sent_at end,
           last_failed_at = case when is_same and $7::text is not null then $6
             else last_failed_at end,
           last_error = case when is_same then coalesce($7::text, last_error) else last_error end
         from hook where id = $5 and exists (select from ended)
         returning (select state from ended)`,
    [
      ...[id, workerId, state, failed?.nextAt ?? null, webhookId, attempted.at],
      ...[sanitizeText(failed?.reason ?? null), url],
    ],
  );
  return ended?.state as Awaited<ReturnType<WebhookStore["finish"]>>;
}

/** How long events are kept after the day in which they may be sent. */
const keepMs = 24 * 60 * 60_000;

/** How long a process whose master key is out of date leaves a receiver to other processes. */
const sealedMs = 60_000;

/**
 * Completes a claimed event. "gone": its webhook was removed, or the budget that it is about, and
 * with it the name of the app or user. "unreadable": this process can't unseal the secret.
 */
async function complete(
  database: Database,
  sealer: Sealer,
  row: SqlRow,
): Promise<WebhookDelivery | "gone" | "unreadable"> {
  // The attempts with the URL, since a change of it, which may come after the claim, resets them.
  const [hook] = await database.query(
    `select account_id, url, sealed, key_version,
       (select attempts from webhook_deliveries where id = $2) as attempts
     from webhooks where id = $1`,
    [String(row.webhook_id), String(row.id)],
  );
  if (!hook) return "gone";
  const accountId = Number(hook.account_id);
  const data = parseExactly(String(row.data)) as Record<string, unknown>;
  if (row.type === "budget.reached") {
    const on = await readBudgetScopeText(database, String(data.budget_id));
    if (on === undefined) return "gone";
    data.on = on;
  }
  try {
    return {
      ...{ id: String(row.id), webhookId: String(row.webhook_id), accountId, data },
      url: String(hook.url),
      secret: await sealer.unseal(String(hook.sealed), {
        ...{ accountId, vendor: webhookSlot(String(row.webhook_id)) },
        keyVersion: hook.key_version as bigint,
      }),
      type: row.type as WebhookEventType,
      at: row.at as Date,
      attempts: Number(hook.attempts),
      endsAt: row.ends_at as Date,
    };
  } catch (thrown) {
    if (thrown instanceof UnsealError) return "unreadable";
    throw thrown;
  }
}
