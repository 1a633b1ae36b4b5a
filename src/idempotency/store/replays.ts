import type {
  Claim,
  Finished,
  ReplayId,
  ReplayState,
  ReplayStore,
} from "../request_fingerprint.ts";
import { maxPastClaims } from "../../shared/interaction.ts";
import { parseExactly } from "../../base/exact_json.ts";
import { fromNow } from "../../database/from_now.ts";
import type { Database, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { coveredByTombstone, erasedAmong } from "../../erasure/store/tombstones.ts";

/** How long a claim holds without being renewed; a live process renews every 10 s. */
const defaultClaimMs = 30_000;
const keepMs = 24 * 60 * 60 * 1000;
const sweepRows = 1000;

/** `processId` identifies this process among those that share the database. */
export function createReplays(
  database: Database,
  { processId, claimMs = defaultClaimMs }: { processId: string; claimMs?: number },
): ReplayStore {
  // An embedded database's directory has one owner, so earlier holders of its claims have ended.
  const workerId = database.kind === "embedded" ? "embedded" : processId;
  return {
    async claim(claim) {
      const values = [claim.key, claim.accountId, claim.fingerprint, claim.claimId, workerId];
      const rows = await database.query(claimSql, [...values, claimMs]);
      if (rows[0]?.claimed === true) return { state: "free" };
      // Neither claimed nor found: a claim was made after this statement's snapshot; the next look
      // sees it.
      return rows[0] ? readKnown(rows[0], claim) : { state: "running" };
    },
    async find(id) {
      const [row] = await database.query(
        `select ${answerColumns("$2")} from replays where key = $1 and until > clock_timestamp()`,
        [id.key, id.fingerprint],
      );
      return row ? readKnown(row, id) : { state: "free" };
    },
    async finish(claim, answer, call) {
      const [row] = await database.query(finishSql, [
        claim.key,
        claim.accountId,
        claim.fingerprint,
        claim.claimId,
        workerId,
        keepMs,
        answer.status,
        sanitizeText(JSON.stringify(answer.headers)),
        answer.body,
        answer.streamed,
        answer.transactionId,
        answer.sources?.length ? answer.sources : null,
        call?.createdAt ?? null,
        sanitizeText(call?.sessionId ?? null),
        sanitizeText(call?.userId ?? null),
      ]);
      const finished: Finished = row ? readFinished(row, claim) : { state: "held" };
      if (finished.state !== "stored") return finished;
      // The call or its sources were erased while the answer was made. Later deletions find it: each
      // process erases again what it reads in the feed of deletions.
      const gone = answer.sources?.length ? await erasedAmong(database, answer.sources) : [];
      if (row?.is_erased === true) gone.push(answer.transactionId!);
      if (gone.length === 0) return finished;
      await erase(database, gone);
      return { ...finished, isGone: true };
    },
    async release({ key, claimId }) {
      return (await database.query(releaseSql, [key, claimId])).length > 0;
    },
    async renew(claims) {
      if (claims.length === 0) return;
      await database.query(
        // Waits for nobody: one locked id must not keep other claims from being renewed.
        `update replays set until = ${fromNow("$3")} where key = any(array(
           select r.key from unnest($1::text[], $2::text[]) as c (key, claim_id)
           join replays r using (key, claim_id) where r.status is null
           for update of r skip locked))`,
        [claims.map(({ key }) => key), claims.map(({ claimId }) => claimId), claimMs],
      );
    },
    erase: (transactionIds) => erase(database, transactionIds),
    sweep: () => sweep(database),
  };
}

/**
 * The answers of calls and those derived from them. The subquery hides the ids of sources from the
 * planner, which would expect most rows to match.
 */
const answersOf = "(transaction_id = any($1::text[]) or sources && (select $1::text[]))";

/** Erases all answers that are free at once, then each of the others: none is locked meanwhile. */
async function erase(database: Database, transactionIds: readonly string[]): Promise<number> {
  const rows = await database.query(
    `with found as (
       select key from replays where ${answersOf}
     ), erased as (
       delete from replays where key = any(array(
         select key from replays where key in (select key from found) and ${answersOf}
         for update skip locked
       )) returning key
     )
     select key, key in (select key from erased) as is_erased from found`,
    [transactionIds],
  );
  const left = rows.filter(({ is_erased }) => is_erased !== true);
  let erased = rows.length - left.length;
  for (const { key } of left) {
    const one = await database.query(
      `delete from replays where key = $2 and ${answersOf} returning key`,
      [transactionIds, String(key)],
    );
    erased += one.length;
  }
  return erased;
}

/**
 * Deletes in small batches, so that nobody waits long for a row, in the order of an index: usually
 * there is nothing to delete. `clock_timestamp()` would make it read all rows. Claims of processes
 * that died stay as long as answers do: a journal that is recovered late is compared with them.
 */
async function sweep(database: Database): Promise<number> {
  for (let removed = 0;;) {
    const rows = await database.query(
      `delete from replays where key in (
         select key from replays where until <= now()
           and (status is not null or until <= now() - ${keepMs} * interval '1 millisecond')
         order by until limit $1 for update skip locked
       ) returning key`,
      [sweepRows],
    );
    removed += rows.length;
    if (rows.length < sweepRows) return removed;
  }
}

/** Selects the body only for the same request. */
function answerColumns(fingerprint: string): string {
  return `fingerprint, status, headers, streamed, transaction_id,
    case when fingerprint = ${fingerprint} then body end as body`;
}

/**
 * Whether the claim that is taken over was of a process that died while it answered the same
 * request. Its call then belongs to this claim; a call of any other claim doesn't.
 */
const takesOverCall = "replays.status is null and replays.fingerprint = excluded.fingerprint";
const pastClaimsColumn = `past_claims = case when replays.claim_id = excluded.claim_id
        then replays.past_claims
      when ${takesOverCall} then array_append(
        replays.past_claims[greatest(1, cardinality(replays.past_claims) - ${maxPastClaims - 2}):],
        replays.claim_id)
      else '{}' end`;

const claimSql = `with claimed as (
    insert into replays (key, account_id, fingerprint, claim_id, holder, until)
    values ($1, $2, $3, $4, $5, ${fromNow("$6")})
    on conflict (key) do update set fingerprint = excluded.fingerprint,
      claim_id = excluded.claim_id, holder = excluded.holder, until = excluded.until,
      status = null, headers = null, body = null, streamed = null, transaction_id = null,
      sources = null, created_at = null, session_id = null, user_id = null,
      ${pastClaimsColumn},
      charged_claim = case when ${takesOverCall} then replays.charged_claim end
    where replays.until <= clock_timestamp()
      or (replays.status is null and replays.holder = excluded.holder)
    returning key
  )
  select true as claimed, null as fingerprint, null::integer as status, null as headers,
    null::boolean as streamed, null as transaction_id, null::bytea as body from claimed
  union all
  select false, ${answerColumns("$3")} from replays
  where key = $1 and not exists (select from claimed)`;

const finishSql = `with stored as (
    insert into replays (key, account_id, fingerprint, claim_id, holder, until, status, headers,
      body, streamed, transaction_id, sources, created_at, session_id, user_id, charged_claim)
    values ($1, $2, $3, $4, $5, ${fromNow("$6")}, $7, $8, $9::bytea, $10, $11, $12::text[],
      $13::timestamptz, $14, $15, $4)
    on conflict (key) do update set fingerprint = excluded.fingerprint,
      claim_id = excluded.claim_id, holder = excluded.holder, until = excluded.until,
      status = excluded.status, headers = excluded.headers, body = excluded.body,
      streamed = excluded.streamed, transaction_id = excluded.transaction_id,
      sources = excluded.sources, created_at = excluded.created_at,
      session_id = excluded.session_id, user_id = excluded.user_id,
      ${pastClaimsColumn},
      charged_claim = case when replays.claim_id = excluded.claim_id or ${takesOverCall}
        then coalesce(replays.charged_claim, excluded.claim_id) else excluded.claim_id end
    where replays.claim_id = excluded.claim_id or replays.until <= clock_timestamp()
    returning key, charged_claim, account_id, transaction_id, created_at, session_id, user_id
  )
  select true as stored, null as fingerprint, null::integer as status, null as transaction_id,
    charged_claim, ${coveredByTombstone} as is_erased
  from stored r
  union all
  select false, fingerprint, status, transaction_id, charged_claim, false from replays
  where key = $1 and not exists (select from stored)`;

/**
 * Releases a claim: puts the claim before it back, or deletes the row if there was none. Another
 * writer may add one just then (`chargeOnce`): `held` is the row as it is once it is locked.
 */
const releaseSql = `with held as (
    select key, past_claims, cardinality(past_claims) as past, charged_claim from replays
    where key = $1 and claim_id = $2 and status is null for update
  ), freed as (
    update replays r set until = clock_timestamp(), claim_id = held.past_claims[held.past],
      past_claims = held.past_claims[:held.past - 1],
      charged_claim = nullif(held.charged_claim, $2)
    from held where r.key = held.key and held.past > 0
  ), removed as (
    delete from replays r using held where r.key = held.key and held.past = 0
  )
  select key from held`;

function readKnown(row: SqlRow, id: ReplayId): ReplayState {
  if (row.fingerprint !== id.fingerprint) return { state: "conflict" };
  if (row.status === null) return { state: "running" };
  const answer = {
    status: Number(row.status),
    headers: parseExactly(String(row.headers)) as Record<string, string>,
    body: row.body as Uint8Array,
    streamed: row.streamed === true,
    transactionId: row.transaction_id as string | null,
  };
  return { state: "done", answer };
}

function readFinished(row: SqlRow, claim: Claim): Finished {
  if (row.stored === true) {
    // The call of an earlier claim was charged already.
    const isChargedElsewhere = row.charged_claim !== claim.claimId;
    return isChargedElsewhere ? { state: "stored", isChargedElsewhere } : { state: "stored" };
  }
  if (row.status === null) return { state: "held" };
  if (row.fingerprint !== claim.fingerprint) return { state: "conflict" };
  return { state: "duplicate", transactionId: row.transaction_id as string | null };
}
