import type {
  Invitation,
  MemberAudit,
  Membership,
  PeopleStore,
  Person,
  Refusal,
  Role,
} from "../person.ts";
import type { Clock } from "../../base/clock.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { revokeKeysOf } from "../../keys/store/key_service.ts";

export function createPeople(database: Database, clock: Pick<Clock, "now">): PeopleStore {
  const changing = { database, clock };
  return {
    async list(accountId, { after, limit } = {}) {
      const since = after ? [after.createdAt, after.person.id] : [];
      const rows = await database.query(
        `${selectMember} from (
           select * from memberships
           where account_id = $1 ${after ? "and (created_at, person_id) > ($3, $4)" : ""}
           order by created_at, person_id limit $2::int
         ) as m cross join lateral (
           select * from people where id = m.person_id offset 0
         ) as p order by m.created_at, m.person_id`,
        [accountId, limit ?? null, ...since],
        { forceCustomPlan: true },
      );
      return rows.map(readMembership);
    },
    async findMember(accountId, personId) {
      const [row] = await database.query(
        `${selectMember} from memberships m join people p on p.id = m.person_id
         where m.account_id = $1 and m.person_id = $2`,
        [accountId, personId],
      );
      return row && readMembership(row);
    },
    invitations: (...args) => invitations(database, ...args),
    invite: (accountId, { id, email, role, tokenHash, createdAt, expiresAt }, audit) =>
      database.transaction(async (tx) => {
        await tx.query(
          `insert into invitations (id, account_id, email, role, token_hash, created_at, expires_at)
           values ($1, $2, $3, $4, $5, $6, $7)
           on conflict (account_id, email) do update set id = excluded.id, role = excluded.role,
             token_hash = excluded.token_hash, created_at = excluded.created_at,
             expires_at = excluded.expires_at`,
          [id, accountId, email, role, tokenHash, createdAt, expiresAt],
        );
        await writeAudit(tx, audit);
      }),
    withdraw: (accountId, invitationId, audit) =>
      database.transaction(async (tx) => {
        const [row] = await tx.query(
          "delete from invitations where account_id = $1 and id = $2 returning email",
          [accountId, invitationId],
        );
        if (!row) return undefined;
        const email = String(row.email);
        await writeAudit(tx, audit?.(email));
        return email;
      }),
    changeRole: (accountId, personId, role, audit, payloads = false) =>
      change(changing, accountId, personId, { staysOwner: role === "owner", audit }, async (tx) => {
        await tx.query(
          `update memberships set role = $3, payloads = $4
           where account_id = $1 and person_id = $2`,
          [accountId, personId, role, role === "viewer" && payloads],
        );
      }),
    remove: (accountId, personId, audit, revoked) =>
      remove(changing, { accountId, personId }, audit, revoked),
  };
}

async function invitations(
  database: Queryable,
  ...[accountId, now, { after, limit } = {}]: Parameters<PeopleStore["invitations"]>
): Promise<Invitation[]> {
  const since = after ? [after.createdAt, after.id] : [];
  const rows = await database.query(
    `select id, email, role, created_at, expires_at from invitations
     where account_id = $1 and expires_at > $2
       ${after ? "and (created_at, id) > ($4, $5)" : ""}
     order by created_at, id limit $3::int`,
    [accountId, now, limit ?? null, ...since],
    { forceCustomPlan: true },
  );
  return rows.map(readInvitation);
}

interface Changing {
  database: Database;
  clock: Pick<Clock, "now">;
}

/** Returns SQL for an identity's hash in `removed_members`; the arguments are SQL expressions. */
export function identityHash(issuer: string, subject: string): string {
  return `encode(sha256(convert_to(${issuer} || chr(10) || ${subject}, 'UTF8')), 'hex')`;
}

/** Signs a removed person out. A person without any account left is deleted, except for a hash. */
async function remove(
  changing: Changing,
  { accountId, personId }: { accountId: number; personId: string },
  audit: Parameters<PeopleStore["remove"]>[2],
  revoked: Parameters<PeopleStore["remove"]>[3],
): ReturnType<PeopleStore["remove"]> {
  let revokedKeyIds: string[] = [];
  const options = { staysOwner: false, audit };
  const removed = await change(changing, accountId, personId, options, async (tx) => {
    if (revoked) revokedKeyIds = await revokeKeysOf(tx, accountId, personId, revoked);
    const member = [accountId, personId];
    await tx.query("delete from memberships where account_id = $1 and person_id = $2", member);
    // A person without any account left loses every session, those in accounts left before too.
    await tx.query(
      `delete from dashboard_sessions where person_id = $2 and (account_id = $1
         or not exists (select from memberships where person_id = $2))`,
      member,
    );
    await tx.query(
      `delete from people where id = $1
       and not exists (select 1 from memberships where person_id = $1)`,
      [personId],
    );
  });
  return typeof removed === "string" ? removed : { ...removed, revokedKeyIds };
}

/**
 * Changes a member under the account's lock: two owners can't remove each other at the same time.
 * Withdraws an invitation of the member's address, and notes the time, so that no invitation from
 * before, for whatever address, undoes the change.
 */
function change(
  { database, clock }: Changing,
  accountId: number,
  personId: string,
  { staysOwner, audit }: { staysOwner: boolean; audit: MemberAudit | undefined },
  act: (tx: Queryable) => Promise<void>,
): Promise<Person | Refusal> {
  return database.transaction(async (tx) => {
    // `no key`: whoever holds rows locked below may write an audit entry, which refers to the
    // account.
    await tx.query("select id from accounts where id = $1 for no key update", [accountId]);
    // Before the person, and that before the rows that refer to them, as a sign-in does.
    const invited = await tx.query(
      `select i.id from invitations i join people p on p.email = i.email
       where i.account_id = $1 and p.id = $2 for update of i`,
      [accountId, personId],
    );
    await tx.query("select id from people where id = $1 for update", [personId]);
    const [row] = await tx.query(
      `select p.id, p.email, p.name, m.role,
         (select count(*) from memberships o where o.account_id = $1 and o.role = 'owner')::int
           as owners
       from memberships m join people p on p.id = m.person_id
       where m.account_id = $1 and m.person_id = $2`,
      [accountId, personId],
    );
    if (!row) return "not_found";
    if (row.role === "owner" && !staysOwner && Number(row.owners) <= 1) return "last_owner";
    await tx.query(
      `insert into removed_members (account_id, identity_hash, removed_at)
       select $1, ${identityHash("issuer", "subject")}, $3 from people where id = $2
       on conflict (account_id, identity_hash) do update set removed_at = excluded.removed_at`,
      [accountId, personId, clock.now()],
    );
    await act(tx);
    const ids = invited.map(({ id }) => String(id));
    await tx.query("delete from invitations where id = any($1::text[])", [ids]);
    const person = readPerson(row);
    await writeAudit(tx, audit?.(person, { was: row.role as Role, isWithdrawn: ids.length > 0 }));
    return person;
  });
}

function readPerson(row: SqlRow): Person {
  return { id: String(row.id), email: row.email as string | null, name: String(row.name) };
}

const selectMember =
  "select p.id, p.email, p.name, m.role, m.payloads, m.created_at, p.signed_in_at";

function readMembership(row: SqlRow): Membership {
  return {
    person: readPerson(row),
    role: row.role as Role,
    payloads: row.role !== "viewer" || row.payloads === true,
    createdAt: row.created_at as Date,
    signedInAt: row.signed_in_at as Date,
  };
}

function readInvitation(row: SqlRow): Invitation {
  return {
    id: String(row.id),
    email: String(row.email),
    role: row.role as Role,
    createdAt: row.created_at as Date,
    expiresAt: row.expires_at as Date,
  };
}
