import {
  type BackgroundClaim,
  type BackgroundKey,
  type BackgroundRequest,
  type BackgroundState,
  type BackgroundStore,
  type ClaimedBackgroundCall,
  holdMs,
  type NewBackgroundCall,
} from "../background_call.ts";
import { Fault } from "../../shared/fault.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { interactionFromJson, interactionToJson } from "../../records/interaction_json.ts";
import { lockRequest, sameRequestHours } from "../../database/request_lock.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";

/**
 * Background calls on PostgreSQL, served or embedded. `processId` is the same over restarts, `run`
 * another one each time: what an earlier run held can be taken over at once.
 */
export function createBackgroundCalls(
  database: Database,
  { processId, run }: { processId: string; run: string },
): BackgroundStore {
  const holder = `${processId}/${run}`;
  return {
    create: (call) => database.transaction((tx) => create(tx, holder, call)),
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
      const rows = await database.query(
        `update background_calls set state = 'deleted', answer = null
         where ${named} and state <> 'deleted' returning state`,
        valuesOf(key),
      );
      return rows.length > 0;
    },
    begin: (key) => begin(database, holder, key),
    async held() {
      const rows = await database.query(
        `select response_id, state from background_calls
         where request is not null and claimed_by = $1`,
        [holder],
      );
      return new Map(rows.map((row) => [String(row.response_id), row.state as BackgroundState]));
    },
    renew: (keys) => renew(database, holder, keys),
    takeOver: (most, except) => takeOver(database, { processId, holder, most, except }),
    release: (key, how) => release(database, holder, key, how),
    giveUp: (key, answerText) => giveUp(database, key, answerText),
  };
}

const named = "account_id = $1 and response_id = $2";

function valuesOf({ accountId, responseId }: BackgroundKey): [number, string] {
  return [accountId, sanitizeText(responseId)];
}

function fromNow(ms: string): string {
  return `clock_timestamp() + ${ms}::bigint * interval '1 millisecond'`;
}

async function create(
  tx: Queryable,
  holder: string,
  call: NewBackgroundCall,
): Promise<{ responseId: string; repeated: boolean }> {
  const { accountId, responseId, repeatable, request, answerText, most } = call;
  // An erasure either finds the row or has happened before it.
  await lockForWriting(tx);
  const requestId = repeatable ? sanitizeText(repeatable.requestId) : null;
  if (repeatable && requestId !== null) {
    await lockRequest(tx, "background", accountId, requestId);
    const [earlier] = await tx.query(
      `select response_id, request_hash from background_calls
       where account_id = $1 and request_id = $2
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
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'queued', $10, $11, $12, $13, ${fromNow("$14")})`,
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
      holder,
      holdMs,
    ],
  );
  return { responseId, repeated: false };
}

async function requireRoom(tx: Queryable, accountId: number, most: number): Promise<void> {
  // Two at once would each find the last place free.
  await lockRequest(tx, "background room", accountId, "");
  const [row] = await tx.query(
    `select count(*) as count from background_calls
     where account_id = $1 and request is not null`,
    [accountId],
  );
  if (Number(row?.count) < most) return;
  throw new Fault("rate_limit_exceeded", {
    message:
      `This account has ${most} background calls that have not ended, as many as it may: wait for one, or cancel one.`,
    retryAfterSeconds: 10,
  });
}

async function begin(
  database: Queryable,
  holder: string,
  key: BackgroundKey,
): Promise<ClaimedBackgroundCall | undefined> {
  const [row] = await database.query(
    `update background_calls set attempts = attempts + 1,
       state = case when state = 'queued' then 'in_progress' else state end
     where ${named} and claimed_by = $3 and request is not null
     returning state, answer, attempts, request, body`,
    [...valuesOf(key), holder],
  );
  return row && readHeld(key, row);
}

async function renew(
  database: Queryable,
  holder: string,
  keys: readonly BackgroundKey[],
): Promise<void> {
  if (keys.length === 0) return;
  // Whoever writes such a row now is not waited for: the call has just ended.
  await database.query(
    `update background_calls set claimed_until = ${fromNow("$3")}
     where (account_id, response_id) in (
       select account_id, response_id from background_calls
       where response_id = any($1::text[]) and claimed_by = $2 and request is not null
       for update skip locked)`,
    [keys.map(({ responseId }) => responseId), holder, holdMs],
  );
}

async function release(
  database: Queryable,
  holder: string,
  key: BackgroundKey,
  { ms, uncounted }: { ms: number; uncounted: boolean },
): Promise<void> {
  await database.query(
    `update background_calls set claimed_by = null, claimed_until = ${fromNow("$4")},
       attempts = attempts - case when $5 then 1 else 0 end,
       state = case when state = 'in_progress' then 'queued' else state end
     where ${named} and claimed_by = $3 and request is not null`,
    [...valuesOf(key), holder, ms, uncounted],
  );
}

async function giveUp(
  database: Queryable,
  key: BackgroundKey,
  answerText: string,
): Promise<void> {
  await database.query(
    `update background_calls set request = null, body = null, claimed_by = null, claimed_until = null,
       answer = case when state in ('queued', 'in_progress') then $3 else answer end,
       state = case when state in ('queued', 'in_progress') then 'failed' else state end
     where ${named}`,
    [...valuesOf(key), sanitizeText(answerText)],
  );
}

async function takeOver(
  database: Queryable,
  { processId, holder, most, except }: {
    processId: string;
    holder: string;
    most: number;
    except: readonly string[];
  },
): Promise<BackgroundClaim[]> {
  const rows = await database.query(
    `update background_calls set claimed_by = $1, claimed_until = ${fromNow("$2")}
     where (account_id, response_id) in (
       select account_id, response_id from background_calls
       where request is not null and response_id <> all($4::text[]) and (
         claimed_until is null or claimed_until <= clock_timestamp()
         or (starts_with(claimed_by, $5) and claimed_by <> $1))
       order by created_at limit $3 for update skip locked)
     returning account_id, response_id, length(body) as units`,
    [holder, holdMs, most, except, `${processId}/`],
  );
  return rows.map((row) => ({
    accountId: Number(row.account_id),
    responseId: String(row.response_id),
    bodyUnits: Number(row.units),
  }));
}

/** Without the body, which stands beside it: it may be long. */
function writeRequest({ begun, bodyText: _, ...request }: BackgroundRequest): string {
  return JSON.stringify({ ...request, begun: interactionToJson(begun) });
}

function readHeld(key: BackgroundKey, row: SqlRow): ClaimedBackgroundCall {
  const { begun, ...request } = JSON.parse(String(row.request)) as
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
