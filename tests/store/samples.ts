import type { SettledCall } from "../../src/shared/interaction.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import type { Database, Queryable, SqlRow, SqlValue } from "../../src/database/database.ts";
import { interactionRow } from "../support/interaction_row.ts";
import { untilWaiting } from "../support/lock_queue.ts";

/** A row with as little as a row may have. */
export function interaction(
  accountId: number,
  transactionId: string,
  more: Partial<SettledCall> = {},
): SettledCall {
  return interactionRow(transactionId, {
    createdAt: new Date("2026-11-21T10:00:00.000Z"),
    requestId: `request of ${transactionId}`,
    accountId,
    apiKeyId: "key_1",
    model: "gpt-4.1",
    requestedModel: "vendor-b/gpt-4.1",
    latencyMs: 0,
    ...more,
  });
}

export async function newAccount(database: Database, name = "ours"): Promise<number> {
  const limits = { tier: "pro", requestsPerMinute: 600, burst: 1000 } as const;
  return (await createAccounts(database).create({ name, ...limits })).id;
}

/** Resolves when a session of the database waits for a lock, or the work is over without. */
export async function untilOneWaits(
  database: Queryable,
  isOver: () => boolean = () => false,
): Promise<void> {
  await untilWaiting(database, () => isOver() ? 0 : 1);
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** The database; the rows of every answer are also passed to `seen`. */
export function observed(
  database: Database,
  seen: (rows: readonly SqlRow[], text: string) => void,
): Database {
  const watch = (queryable: Queryable): Queryable => ({
    async query<Row extends SqlRow>(text: string, values?: readonly SqlValue[]) {
      const rows = await queryable.query<Row>(text, values);
      seen(rows, text);
      return rows;
    },
  });
  return {
    ...database,
    ...watch(database),
    transaction: (work) => database.transaction((tx) => work({ ...tx, ...watch(tx) })),
  };
}

/** Adds a webhook that wants all events of an account. */
export async function addWebhook(database: Queryable, accountId: number): Promise<void> {
  await database.query(
    `insert into webhooks (id, account_id, url, events, sealed, key_version)
     values ('hook of ' || $1, $1::bigint, 'https://hooks.example/', '{}', '', 1)`,
    [String(accountId)],
  );
}

/** The events that wait for webhooks, in their order. */
export async function waitingEvents(database: Queryable): Promise<unknown[]> {
  const rows = await database.query(
    "select webhook_id, type, data from webhook_deliveries order by seq",
  );
  return rows.map(({ webhook_id, type, data }) => [webhook_id, type, JSON.parse(String(data))]);
}
