import type { Queryable } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { giveUpMs, type WebhookEvent, webhookLimits } from "../webhook.ts";

/**
 * Stores events for the webhooks that subscribe to them, or for this webhook alone; each key once
 * per webhook. Part of the transaction in which the events happen. A webhook with too many waiting
 * events loses the new one. Waiting events are counted once per webhook, and only if it has a new
 * event, because each call of an unpriced model enqueues one.
 */
export async function enqueueEvents(
  tx: Queryable,
  events: readonly WebhookEvent[],
  webhookId: string | null = null,
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ accountId, key, type, data, at }) => ({
    ...{ account_id: accountId === "first" ? null : accountId, type },
    // It may name a model, which holds whatever characters its caller chose.
    event_key: sanitizeText(key),
    ...{ data: JSON.stringify(data), at: at.toISOString() },
    ends_at: new Date(at.getTime() + giveUpMs).toISOString(),
  }));
  await tx.query(
    `with sent as (
       select row_number() over () as n, * from json_to_recordset($1::text::json) as r(account_id bigint, event_key text,
         type text, data text, at timestamptz, ends_at timestamptz)
     ), events as (
       select distinct on (account_id, event_key) * from sent order by account_id, event_key, n
     ), new as (
       select w.id as webhook_id, e.* from events e
       join webhooks w on w.account_id = coalesce(e.account_id, (select min(id) from accounts))
       where case when $2::text is null then w.events = '{}' or e.type = any(w.events)
         else w.id = $2::text end
         and not exists (select from webhook_deliveries d
           where d.webhook_id = w.id and d.event_key = e.event_key)
     ), hooks as materialized (
       -- Before any event, and in one order: whoever else has events for them waits here.
       select webhook_id, (select count(*) from webhook_deliveries d
           where d.webhook_id = h.webhook_id and d.state = 'waiting') < $3::bigint as has_room
       from (
         select id as webhook_id from webhooks where id in (select webhook_id from new)
         order by id for no key update
       ) h
     ), wanted as (
       select * from new join hooks using (webhook_id)
     ), added as (
       insert into webhook_deliveries
         (id, webhook_id, event_key, type, data, at, next_at, ends_at)
       select 'msg_' || replace(gen_random_uuid()::text, '-', ''), webhook_id, event_key, type,
         data, at, at, ends_at
       from wanted where has_room order by n
       on conflict (webhook_id, event_key) do nothing
     )
     update webhooks w set lost = w.lost + l.count
     from (select webhook_id, count(*) as count from wanted where not has_room
       group by webhook_id) l where w.id = l.webhook_id`,
    [JSON.stringify(rows), webhookId, webhookLimits.waiting],
  );
}
