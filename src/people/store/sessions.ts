import type { Role } from "../person.ts";
import {
  seenEveryMs,
  type Session,
  sessionIdleMs,
  sessionMs,
  type SessionStore,
} from "../session.ts";
import { readAccount } from "../../keys/store/accounts.ts";
import type { Database, SqlRow } from "../../database/database.ts";

export function createSessions(database: Database): SessionStore {
  return {
    start: ({ tokenHash, personId, accountId, now }, replaces) =>
      database.transaction(async (tx) => {
        // Before any session, as a removal takes them.
        const [person] = await tx.query("select id from people where id = $1 for key share", [
          personId,
        ]);
        // Before the other sessions: a removal of its person may lock them in another order.
        await tx.query("delete from dashboard_sessions where token_hash = $1", [replaces ?? ""]);
        // Ended sessions that another transaction is deleting are left to it. Idle ones stay until
        // `expires_at`: an index of `seen_at` would be written whenever a session is used.
        await tx.query(
          `delete from dashboard_sessions where token_hash = any(array(
             select token_hash from dashboard_sessions where expires_at <= $1
             for update skip locked))`,
          [now],
        );
        // A person who has just been removed gets no session, and is asked to sign in again.
        if (!person) return;
        await tx.query(
          `insert into dashboard_sessions
             (token_hash, person_id, account_id, created_at, seen_at, expires_at)
           values ($1, $2, $3, $4, $4, $5)`,
          [tokenHash, personId, accountId, now, new Date(now.getTime() + sessionMs)],
        );
      }),
    find: (tokenHash, now) => find(database, tokenHash, now),
    async switchAccount(tokenHash, accountId) {
      const rows = await database.query(
        `update dashboard_sessions s set account_id = m.account_id from memberships m
         where s.token_hash = $1 and m.account_id = $2::bigint and m.person_id = s.person_id
         returning s.token_hash`,
        [tokenHash, accountId],
      );
      return rows.length > 0;
    },
    async end(tokenHash) {
      await database.query("delete from dashboard_sessions where token_hash = $1", [tokenHash]);
    },
    async endAll(personId) {
      const rows = await database.query(
        "delete from dashboard_sessions where person_id = $1 returning token_hash",
        [personId],
      );
      return rows.length;
    },
  };
}

/** Finds a session by one query per page, so that a changed role applies at once. */
async function find(
  database: Database,
  tokenHash: string,
  now: Date,
): Promise<Session | undefined> {
  const rows = await database.query(
    `select s.seen_at, s.account_id as shown_id, p.id as person_id, p.email, p.name as person_name,
       m.role, m.payloads, a.id as account_id, a.name as account_name, a.tier as account_tier,
       a.requests_per_minute as account_requests_per_minute, a.burst as account_burst,
       a.created_at as account_created_at
     from dashboard_sessions s
     join people p on p.id = s.person_id
     join memberships m on m.person_id = s.person_id
     join accounts a on a.id = m.account_id
     where s.token_hash = $1 and s.expires_at > $2 and s.seen_at > $3
     order by a.id`,
    [tokenHash, now, new Date(now.getTime() - sessionIdleMs)],
  );
  const shown = rows.find((row) => row.account_id === row.shown_id);
  if (!shown) return undefined;
  if (now.getTime() - (shown.seen_at as Date).getTime() >= seenEveryMs) {
    await database.query("update dashboard_sessions set seen_at = $2 where token_hash = $1", [
      tokenHash,
      now,
    ]);
  }
  return readSession(shown, rows);
}

function readSession(shown: SqlRow, all: readonly SqlRow[]): Session {
  return {
    person: {
      id: String(shown.person_id),
      email: shown.email as string | null,
      name: String(shown.person_name),
    },
    account: readAccount(shown, "account_"),
    role: shown.role as Role,
    seesPayloads: shown.role !== "viewer" || shown.payloads === true,
    accounts: all.map((row) => ({ id: Number(row.account_id), name: String(row.account_name) })),
  };
}
