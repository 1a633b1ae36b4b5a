import {
  type BackgroundKey,
  type BackgroundRequest,
  type BackgroundState,
  type BackgroundStore,
  type ClaimedBackgroundCall,
  type NewBackgroundCall,
} from "../background_call.ts";
import { parseExactly } from "../../base/exact_json.ts";
import { Fault, overLimit } from "../../shared/fault.ts";
import { fromNow } from "../../database/from_now.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { interactionFromJson, interactionToJson } from "../../records/interaction_json.ts";
import { lockRequest, sameRequestHours } from "../../database/request_lock.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { coveredByTombstone } from "../../erasure/store/tombstones.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import { Claims, withoutClaim, type WorkTable } from "../../work_queue/store/claims.ts";

/** The columns that say who works on a call. */
const work: WorkTable = {
  name: "background_calls",
  key: "account_id, response_id",
  id: "response_id",
  owner: "claimed_by",
  until: "claimed_until",
  isOpen: "request is not null",
  claimMs: 30_000,
};

/** Background calls on PostgreSQL, served or embedded. `workerId` names this run of the process. */
export function createBackgroundCalls(database: Database, workerId: string): BackgroundStore {
  const claims = new Claims(database, work, workerId);
  return {
    create: (call) => database.transaction((tx) => create(tx, workerId, call)),
    async find(key) {
      const [row] = await database.query(
        `select state, transaction_id, answer from background_calls
         where ${named} and state <> 'deleted'`,
        valuesOf(key),
      );
      return row && {
        state: row.state as BackgroundState,
        transactionId: String(row.transaction_id),
        answerText: row.answer as string | null,
      };
    },
    async cancel(key, answerText) {
      const rows = await database.query(
        `update background_calls set state = 'cancelled', answer = $3
         where ${named} and state in ('queued', 'in_progress') returning state`,
        [...valuesOf(key), sanitizeText(answerText)],
      );
      return rows.length > 0;
    },
    async remove(key) {
      const [row] = await database.query(
        `update background_calls set state = 'deleted', answer = null
         where ${named} and state <> 'deleted' returning transaction_id`,
        valuesOf(key),
      );
      return row && String(row.transaction_id);
    },
    begin: (key) => begin(database, workerId, key),
    async renew(keys) {
      const ids = keys.map(({ responseId }) => responseId);
      const rows = await claims.renew(ids, { returning: "state" });
      return new Map([...rows].map(([id, row]) => [id, row.state as BackgroundState]));
    },
    async claim(most, except) {
      const rows = await claims.claim({
        ...{ most, except, orderBy: "created_at" },
        returning: "account_id, response_id, length(body) as units",
      });
      return rows.map((row) => ({
        accountId: Number(row.account_id),
        responseId: String(row.response_id),
        bodyUnits: Number(row.units),
      }));
    },
    release: (key, how) => release(database, workerId, key, how),
    endUnrecorded: (key, answerText) => endUnrecorded(database, key, answerText),
  };
}

const named = "account_id = $1 and response_id = $2";

function valuesOf({ accountId, responseId }: BackgroundKey): [number, string] {
  return [accountId, sanitizeText(responseId)];
}

async function create(
  tx: Queryable,
  workerId: string,
  call: NewBackgroundCall,
): Promise<{ responseId: string; repeated: boolean }> {
  const { accountId, responseId, repeatable, request, answerText, most } = call;
  // An erasure either runs before this row is written, or sees it.
  await lockForWriting(tx);
  const requestId = repeatable ? sanitizeText(repeatable.requestId) : null;
  if (repeatable && requestId !== null) {
    await lockRequest(tx, "background", accountId, requestId);
    const [earlier] = await tx.query(
      `select response_id, request_hash from background_calls
       where account_id = $1 and request_id = $2 and state <> 'deleted'
         and created_at > clock_timestamp() - interval '${sameRequestHours} hours'
       order by created_at desc limit 1`,
      [accountId, requestId],
    );
    if (earlier) {
      if (earlier.request_hash !== repeatable.requestHash) throw new Fault("idempotency_conflict");
      return { responseId: String(earlier.response_id), repeated: true };
    }
  }
  await requireRoom(tx, accountId, most);
  const { begun } = request;
  await tx.query(
    `insert into background_calls (account_id, response_id, transaction_id, created_at, api_key_id,
       session_id, user_id, request_id, request_hash, state, answer, request, body,
       claimed_by, claimed_until)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'queued', $10, $11, $12, $13, ${
      fromNow(work.claimMs)
    })`,
    [
      accountId,
      sanitizeText(responseId),
      begun.transactionId,
      begun.createdAt,
      begun.apiKeyId,
      begun.sessionId === null ? null : sanitizeText(begun.sessionId),
      begun.userId === null ? null : sanitizeText(begun.userId),
      requestId,
      repeatable?.requestHash ?? null,
      sanitizeText(answerText),
      sanitizeText(writeRequest(request)),
      sanitizeText(request.bodyText),
      workerId,
    ],
  );
  return { responseId, repeated: false };
}

async function requireRoom(tx: Queryable, accountId: number, most: number): Promise<void> {
  // Without the lock two concurrent requests would each find room for the last call.
  await lockRequest(tx, "background room", accountId, "");
  const [row] = await tx.query(
    `select count(*) as count from background_calls
     where account_id = $1 and request is not null`,
    [accountId],
  );
  if (Number(row?.count) < most) return;
  throw overLimit(
    `This account has ${most} unfinished background calls, the maximum: wait for one to end, or cancel one.`,
    10,
  );
}

async function begin(
  database: Queryable,
  workerId: string,
  key: BackgroundKey,
): Promise<ClaimedBackgroundCall | undefined> {
  const [row] = await database.query(
    `update background_calls r set attempts = attempts + 1,
       state = case when state = 'queued' then 'in_progress' else state end
     where ${named} and claimed_by = $3 and request is not null and not ${coveredByTombstone}
     returning state, answer, attempts, request, body`,
    [...valuesOf(key), workerId],
  );
  return row && readClaimed(key, row);
}

async function release(
  database: Queryable,
  workerId: string,
  key: BackgroundKey,
  { ms, uncounted }: { ms: number; uncounted: boolean },
): Promise<void> {
  await database.query(
    `update background_calls set claimed_by = null, claimed_until = ${fromNow("$4")},
       attempts = attempts - case when $5 then 1 else 0 end,
       state = case when state = 'in_progress' then 'queued' else state end
     where ${named} and claimed_by = $3 and request is not null`,
    [...valuesOf(key), workerId, ms, uncounted],
  );
}

async function endUnrecorded(
  database: Queryable,
  key: BackgroundKey,
  answerText: string,
): Promise<void> {
  await database.query(
    `update background_calls set request = null, body = null, ${withoutClaim(work)},
       answer = case when state in ('queued', 'in_progress') then $3 else answer end,
       state = case when state in ('queued', 'in_progress') then 'failed' else state end
     where ${named}`,
    [...valuesOf(key), sanitizeText(answerText)],
  );
}

/** Without the body, which may be long and has a column of its own. */
function writeRequest({ begun, bodyText: _, ...request }: BackgroundRequest): string {
  return JSON.stringify({ ...request, begun: interactionToJson(begun) });
}

function readClaimed(key: BackgroundKey, row: SqlRow): ClaimedBackgroundCall {
  const { begun, ...request } = parseExactly(String(row.request)) as
    & Omit<BackgroundRequest, "begun" | "bodyText">
    & { begun: string };
  const { media: _, ...record } = interactionFromJson(begun);
  return {
    ...key,
    state: row.state as BackgroundState,
    answerText: row.answer === null ? "{}" : String(row.answer),
    attempts: Number(row.attempts),
    request: { ...request, bodyText: String(row.body), begun: record },
  };
}
