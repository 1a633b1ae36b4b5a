import {
  dataTables,
  type DeletionCounts,
  type DeletionRequest,
  type Selectors,
} from "../../src/erasure/deletion.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import type { Database } from "../../src/database/database.ts";
import { createDeletions } from "../../src/erasure/store/deletions.ts";
import { interaction } from "./samples.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";

export const asked = new Date("2026-11-21T12:00:00.000Z");

export function request(
  accountId: number,
  selectors: Selectors,
  more: Partial<DeletionRequest> = {},
) {
  const deletionId = crypto.randomUUID();
  return {
    deletionId,
    accountId,
    tables: dataTables,
    selectors,
    reason: null,
    requestedAt: asked,
    ...more,
  };
}

export function storeOf(
  database: Database,
  analytics = createAnalyticsStore(database),
  workerId = "a/1",
) {
  return createDeletions({ main: database, analytics }, {
    newSalt: () => crypto.randomUUID(),
    workerId,
  });
}

/** Does what was asked for to the end. */
export async function erase(
  database: Database,
  wanted: DeletionRequest,
  analytics = createAnalyticsStore(database),
): Promise<DeletionCounts> {
  const store = storeOf(database, analytics);
  const tombstone = await store.add(wanted, "claimed");
  const deletion = { tombstone, selectors: wanted.selectors };
  while (!(await store.eraseBatch(deletion)).isLast);
  await store.finish(wanted.deletionId);
  return (await store.find(wanted.accountId, wanted.deletionId))!.counts;
}

/** A call that left something everywhere. */
export function fullCall(
  accountId: number,
  id: string,
  more: Partial<SettledCall> = {},
): SettledCall {
  const text = JSON.stringify({ said: `words of ${id}` });
  return interaction(accountId, id, {
    requestText: text,
    responseText: text,
    retained: {
      response: {
        responseId: `resp ${id}`,
        inputItemsText: text,
        answerText: text,
        itemIds: [`item ${id}`],
        sources: [],
      },
      reasoning: [{ callId: `tool ${id}`, reasoningText: text }],
    },
    ...more,
  });
}

export async function evaluate(
  database: Database,
  accountId: number,
  id: string,
  answerId: string,
) {
  await database.query(
    `insert into eval_results (eval_run_id, created_at, account_id, transaction_id,
       answer_transaction_id, session_id, user_id, grader_index, grader, detail)
     select 'run', i.created_at + interval '1 hour', i.account_id, i.transaction_id, $3,
       i.session_id, i.user_id, 0, '{}', 'words of the judge'
     from interactions i where i.account_id = $1 and i.transaction_id = $2`,
    [accountId, id, answerId],
  );
}

/** A run under way, with an item for each of these calls; its second grader is a judge. */
export async function startRun(
  database: Database,
  accountId: number,
  { evalRunId, createdAt, ids }: { evalRunId: string; createdAt: Date; ids: readonly string[] },
) {
  await database.query(
    `insert into eval_runs (eval_run_id, created_at, account_id, api_key_id, model, filters,
       graders, state, counts) values ($1, $2, $3, 'k', 'm', '{}', $4, 'running', '{}')`,
    [evalRunId, createdAt, accountId, '[{"type":"exact"},{"type":"judge"}]'],
  );
  await database.query(
    `insert into eval_items (eval_run_id, position, transaction_id, transaction_created_at, attempts)
     select $1, position - 1, id, $2, 1 from unnest($3::text[]) with ordinality as c(id, position)`,
    [evalRunId, createdAt, ids],
  );
}

/** A call that a run made. */
export function evalCall(
  accountId: number,
  id: string,
  requestId: string,
  more: Partial<SettledCall> = {},
): SettledCall {
  return fullCall(accountId, id, { requestId, endpoint: "/api/v1/evals", ...more });
}

/** What is left: ids of calls in each table. */
export async function left(database: Database): Promise<Record<string, string[]>> {
  const ids = async (table: string) =>
    (await database.query(`select transaction_id from ${table} order by 1`, []))
      .map((row) => String(row.transaction_id));
  return {
    interactions: await ids("interactions"),
    payloads: await ids("interaction_payloads"),
    responses: await ids("kept_responses"),
    reasoning: await ids("kept_reasoning"),
    replays: await ids("replays"),
    results: await ids("eval_results"),
  };
}
