import { parseExactly } from "../../base/exact_json.ts";
import { domainOf, type Identity, type Role } from "../person.ts";
import {
  type Admission,
  claimMs,
  linkMs,
  type LinkOffer,
  type Offer,
  type SignInStart,
  type SignInStore,
} from "../sign_in.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { deletedAtOnce, deleteInChunks } from "../../database/delete_in_chunks.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { identityHash } from "./people.ts";

export function createSignIns(database: Database): SignInStore {
  return {
    async begin({ stateHash, returnTo, claimHash, invitationHash, identity, expiresAt }, now) {
      await deleteEnded(database, now);
      await database.query(
        `insert into sign_in_states
           (state_hash, return_to, claim_hash, invitation_hash, identity, expires_at)
         values ($1, $2, $3, $4, $5, $6)`,
        [
          stateHash,
          returnTo,
          claimHash,
          invitationHash,
          identity && JSON.stringify(identity),
          expiresAt,
        ],
      );
    },
    async take(stateHash, now) {
      const [row] = await database.query(
        `delete from sign_in_states where state_hash = $1 returning *`,
        [stateHash],
      );
      return readStart(row, now);
    },
    async find(stateHash, now) {
      const [row] = await database.query("select * from sign_in_states where state_hash = $1", [
        stateHash,
      ]);
      return readStart(row, now);
    },
    offer: (links, now) => findOffer(database, links, now),
    admit: (identity, start, context) =>
      database.transaction((tx) => admit(tx, identity, start, context)),
    offerClaim: (tokenHash, now) =>
      database.transaction(async (tx) => {
        const accountId = await lockFirstAccount(tx);
        if (accountId === undefined || await isOwned(tx, accountId)) return false;
        await tx.query("delete from claim_tokens where expires_at <= $1", [now]);
        await tx.query("insert into claim_tokens (token_hash, expires_at) values ($1, $2)", [
          tokenHash,
          new Date(now.getTime() + claimMs),
        ]);
        return true;
      }),
    offerLink: (link, offered) => database.transaction((tx) => offerLink(tx, link, offered)),
    async lookUpLink(tokenHash, now) {
      const [row] = await database.query("select * from sign_in_states where state_hash = $1", [
        ofLink(tokenHash),
      ]);
      const identity = readStart(row, now)?.identity;
      return identity ? offerTo(identity) : undefined;
    },
    admitByLink: (tokenHash, context) =>
      database.transaction((tx) => admitByLink(tx, tokenHash, context)),
    async hasOwner() {
      const [row] = await database.query("select min(id) as id from accounts");
      return row?.id !== null && row?.id !== undefined && await isOwned(database, Number(row.id));
    },
  };
}

/** Deletes sign-ins, or invitations, that have ended, and leaves locked ones to a later call. */
async function deleteEnded(
  database: Queryable,
  now: Date,
  table: "sign_in_states" | "invitations" = "sign_in_states",
): Promise<void> {
  await deleteInChunks(
    database,
    `delete from ${table} where ctid = any(array(
       select ctid from ${table} where expires_at <= $1 order by expires_at limit ${deletedAtOnce}
       for update skip locked)) returning 1 as one`,
    [now],
  );
}

/** Removes invitations and sign-ins that have ended: both have somebody's e-mail address. */
export async function sweepSignIns(database: Queryable, now: Date): Promise<void> {
  await deleteEnded(database, now);
  await deleteEnded(database, now, "invitations");
}

function readStart(row: SqlRow | undefined, now: Date): SignInStart | undefined {
  if (!row || (row.expires_at as Date) <= now) return undefined;
  return {
    stateHash: String(row.state_hash),
    returnTo: String(row.return_to),
    claimHash: row.claim_hash as string | null,
    invitationHash: row.invitation_hash as string | null,
    identity: row.identity === null ? null : parseExactly(String(row.identity)) as Identity,
    expiresAt: row.expires_at as Date,
  };
}

async function findOffer(
  database: Database,
  { claimHash, invitationHash }: Pick<SignInStart, "claimHash" | "invitationHash">,
  now: Date,
): Promise<Offer | undefined> {
  const [row] = claimHash !== null
    ? await database.query(
      `select a.name, 'owner' as role from accounts a, claim_tokens t
       where t.token_hash = $1 and t.expires_at > $2
         and a.id = (select min(id) from accounts)
         and not exists (
           select 1 from memberships m where m.account_id = a.id and m.role = 'owner')`,
      [claimHash, now],
    )
    : await database.query(
      `select a.name, i.role from invitations i join accounts a on a.id = i.account_id
       where i.token_hash = $1 and i.expires_at > $2`,
      [invitationHash, now],
    );
  return row && { accountName: String(row.name), role: row.role as Role };
}

/**
 * Returns a link's key among the sign-ins under way. Its space keeps it apart from tokens' hashes.
 */
function ofLink(tokenHash: string): string {
  return `link ${tokenHash}`;
}

function offerTo({ name, email }: Identity): LinkOffer {
  return { name: email ?? name };
}

/** The issuer of people who sign in by link alone, without an identity provider. */
const localIssuer = "local";

async function offerLink(
  tx: Queryable,
  { tokenHash, email, now }: Parameters<SignInStore["offerLink"]>[0],
  offered: Parameters<SignInStore["offerLink"]>[1],
): ReturnType<SignInStore["offerLink"]> {
  const first = await lockFirstAccount(tx);
  if (first === undefined) return undefined;
  const found = email === undefined ? await ownerOf(tx, first) : await personOf(tx, email);
  if (!found && await isOwned(tx, first)) return undefined;
  const { identity, accountId } = found ?? {
    accountId: first,
    identity: {
      issuer: localIssuer,
      subject: email ?? "owner",
      ...{ email: email ?? null, name: email ?? "Owner" },
    },
  };
  await deleteEnded(tx, now);
  await tx.query(
    `insert into sign_in_states (state_hash, return_to, identity, expires_at)
     values ($1, '/dashboard', $2, $3)`,
    [
      ofLink(tokenHash),
      JSON.stringify(identity),
      new Date(now.getTime() + linkMs),
    ],
  );
  const offer = offerTo(identity);
  await writeAudit(tx, offered?.({ accountId, name: offer.name }));
  return { ...offer, becomesOwner: !found };
}

async function ownerOf(tx: Queryable, accountId: number) {
  const [row] = await tx.query(
    `select p.*, m.account_id from memberships m join people p on p.id = m.person_id
     where m.account_id = $1 and m.role = 'owner' order by m.created_at, p.id limit 1`,
    [accountId],
  );
  return row && readMember(row);
}

async function personOf(tx: Queryable, email: string) {
  const [row] = await tx.query(
    `select p.*, m.account_id from people p join memberships m on m.person_id = p.id
     where p.email = $1 order by m.account_id, p.id limit 1`,
    [email],
  );
  return row && readMember(row);
}

function readMember(row: SqlRow): { identity: Identity; accountId: number } {
  return {
    accountId: Number(row.account_id),
    identity: {
      issuer: String(row.issuer),
      subject: String(row.subject),
      email: row.email as string | null,
      name: String(row.name),
    },
  };
}

async function admitByLink(
  tx: Queryable,
  tokenHash: string,
  { signedIn, ...context }: Parameters<SignInStore["admitByLink"]>[1],
): Promise<Admission> {
  const first = await lockFirstAccount(tx);
  const [row] = await tx.query("delete from sign_in_states where state_hash = $1 returning *", [
    ofLink(tokenHash),
  ]);
  const identity = readStart(row, context.now)?.identity;
  if (!identity) return { kind: "link_void" };
  let admission = await join(tx, identity, undefined, context);
  if (admission.kind === "stranger" && first !== undefined && !await isOwned(tx, first)) {
    await tx.query("delete from claim_tokens");
    admission = await join(tx, identity, { accountId: first, role: "owner" }, context);
  }
  if (admission.kind === "admitted") {
    const { accountId, personId } = admission;
    const { email, name } = identity;
    await writeAudit(tx, signedIn?.({ accountId, person: { id: personId, email, name } }));
  }
  return admission;
}

type Context = Parameters<SignInStore["admit"]>[2];

async function admit(
  tx: Queryable,
  identity: Identity,
  start: Pick<SignInStart, "claimHash" | "invitationHash">,
  context: Context,
): Promise<Admission> {
  const first = await lockFirstAccount(tx);
  const { now, hasAgreed } = context;
  const { claimHash, invitationHash } = start;
  if (claimHash !== null) {
    if (first === undefined || !await mayClaim(tx, first, claimHash, now)) {
      return { kind: "claim_void" };
    }
    if (!hasAgreed) return { kind: "asks", claimHash, invitationHash: null };
    await tx.query("delete from claim_tokens");
    return await join(tx, identity, { accountId: first, role: "owner" }, context);
  }
  if (invitationHash !== null) {
    const invited = await byLink(tx, identity, invitationHash, now);
    if (typeof invited === "string") return { kind: invited };
    return await accept(tx, identity, { first, invited }, context);
  }
  const existing = await join(tx, identity, undefined, context);
  if (existing.kind === "admitted") {
    const member = { accountId: first, personId: existing.personId };
    if (await isMember(tx, member)) await takeRole(tx, identity, member, context);
    else await joinFirst(tx, identity, first, context);
    return existing;
  }
  const invited = await byAddress(tx, identity, now);
  if (invited) return await accept(tx, identity, { first, invited }, context);
  return await joinFirst(tx, identity, first, context);
}

/** Makes a person a member of the first account, if a group or an allowed domain does. */
async function joinFirst(
  tx: Queryable,
  identity: Identity,
  first: number | undefined,
  context: Context,
): Promise<Admission> {
  const membership = byGroup(identity, first) ?? await byDomain(tx, identity, first, context);
  return membership ? await join(tx, identity, membership, context) : { kind: "stranger" };
}

async function isMember(
  tx: Queryable,
  { accountId, personId }: { accountId: number | undefined; personId: string },
): Promise<boolean> {
  const rows = await tx.query(
    "select 1 as one from memberships where account_id = $1::bigint and person_id = $2",
    [accountId ?? null, personId],
  );
  return rows.length > 0;
}

/** Uses up an invitation, once the person has agreed to it. In the first account groups decide. */
async function accept(
  tx: Queryable,
  identity: Identity,
  { first, invited: { id, hash, ...membership } }: { first: number | undefined; invited: Invited },
  context: Context,
): Promise<Admission> {
  if (!context.hasAgreed) return { kind: "asks", claimHash: null, invitationHash: hash };
  await tx.query("delete from invitations where id = $1", [id]);
  const joined = await join(tx, identity, membership, context);
  if (joined.kind === "admitted" && joined.accountId === first) {
    await takeRole(tx, identity, joined, context);
  }
  return joined;
}

interface JoinedAccount {
  accountId: number;
  role: Role;
}

interface Invited extends JoinedAccount {
  id: string;
  hash: string;
}

/**
 * Makes claims and sign-ins run one after the other: two concurrent claims would make two owners.
 * `no key`, because withdrawing an invitation locks its row and then writes an audit entry that
 * refers to the account: a full lock could deadlock with it.
 */
async function lockFirstAccount(tx: Queryable): Promise<number | undefined> {
  const [row] = await tx.query("select id from accounts order by id limit 1 for no key update");
  return row && Number(row.id);
}

async function isOwned(database: Queryable, accountId: number): Promise<boolean> {
  const rows = await database.query(
    "select 1 as one from memberships where account_id = $1 and role = 'owner' limit 1",
    [accountId],
  );
  return rows.length > 0;
}

async function mayClaim(
  tx: Queryable,
  accountId: number,
  hash: string,
  now: Date,
): Promise<boolean> {
  const [row] = await tx.query("select expires_at from claim_tokens where token_hash = $1", [hash]);
  return row !== undefined && (row.expires_at as Date) > now && !await isOwned(tx, accountId);
}

/** Finds the invitation of a link. A person with another verified address can't use it. */
async function byLink(
  tx: Queryable,
  identity: Identity,
  hash: string,
  now: Date,
): Promise<Invited | "invitation_void" | "other_address"> {
  await lockInviting(tx, "token_hash = $1", [hash]);
  const [row] = await tx.query(
    `select id, token_hash, account_id, email, role from invitations i
     where token_hash = $1 and expires_at > $2 and ${isLaterThanDecision("$3", "$4")} for update`,
    [hash, now, ...namesOf(identity)],
  );
  if (!row) return "invitation_void";
  const isAnybodys = row.email === "";
  if (!isAnybodys && identity.email !== null && identity.email !== row.email) {
    return "other_address";
  }
  return readInvited(row);
}

/** Finds the oldest invitation of a verified address. */
async function byAddress(
  tx: Queryable,
  identity: Identity,
  now: Date,
): Promise<Invited | undefined> {
  if (identity.email === null) return undefined;
  await lockInviting(tx, "email = $1", [identity.email]);
  const [row] = await tx.query(
    `select id, token_hash, account_id, role from invitations i
     where email = $1 and expires_at > $2 and ${isLaterThanDecision("$3", "$4")}
     order by created_at limit 1 for update`,
    [identity.email, now, ...namesOf(identity)],
  );
  return row && readInvited(row);
}

/**
 * Locks the accounts of invitations before they are looked for, as a removal locks its account: an
 * invitation that counts when it is found still does when it is accepted.
 */
async function lockInviting(
  tx: Queryable,
  condition: string,
  params: readonly string[],
): Promise<void> {
  await tx.query(
    `select id from accounts where id in (select account_id from invitations where ${condition})
     order by id for no key update`,
    params,
  );
}

/**
 * Returns SQL: the invitation `i` was made after an owner last removed the person from its account
 * or changed their role there (`removed_members`); the arguments are SQL expressions.
 */
function isLaterThanDecision(issuer: string, subject: string): string {
  return `not exists (select from removed_members r where r.account_id = i.account_id
    and r.identity_hash = ${identityHash(`${issuer}::text`, `${subject}::text`)}
    and r.removed_at >= i.created_at)`;
}

/** Returns the names of a person as the database has them. */
function namesOf({ issuer, subject }: Identity): [issuer: string, subject: string] {
  return [sanitizeText(issuer), sanitizeText(subject)];
}

function readInvited(row: SqlRow): Invited {
  return {
    id: String(row.id),
    hash: String(row.token_hash),
    accountId: Number(row.account_id),
    role: row.role as Role,
  };
}

/**
 * Returns the membership that the provider's groups give. The operator set it up, so no consent.
 */
function byGroup({ role }: Identity, first: number | undefined): JoinedAccount | undefined {
  return role === undefined || first === undefined ? undefined : { accountId: first, role };
}

/**
 * Sets the role of a member of the first account to the one that the provider's groups give now.
 * The last owner of the account stays owner. An owner's permission to see payloads ends with the
 * role that it was for.
 */
async function takeRole(
  tx: Queryable,
  { role }: Identity,
  { accountId, personId }: { accountId: number | undefined; personId: string },
  { roleChanged }: Context,
): Promise<void> {
  if (role === undefined || accountId === undefined) return;
  const changed = await tx.query(
    `update memberships m set role = $3, payloads = false
     from memberships before
     where m.account_id = $1 and m.person_id = $2 and m.role <> $3
       and before.account_id = m.account_id and before.person_id = m.person_id
       and (m.role <> 'owner' or exists (
         select 1 from memberships o
         where o.account_id = $1 and o.role = 'owner' and o.person_id <> $2))
     returning before.role as was`,
    [accountId, personId, role],
  );
  for (const { was } of changed) {
    await writeAudit(tx, roleChanged?.({ accountId, personId, role, was: was as Role }));
  }
}

/**
 * Returns the membership that an allowed domain gives. The operator allowed it, so no consent is
 * needed. A person whom an owner removed isn't let in again by domain, and one whom an owner invited
 * gets the role of the invitation.
 */
async function byDomain(
  tx: Queryable,
  { issuer, subject, email }: Identity,
  first: number | undefined,
  { allowedDomains, now }: Context,
): Promise<JoinedAccount | undefined> {
  if (email === null || first === undefined) return undefined;
  if (!allowedDomains.includes(domainOf(email))) return undefined;
  const decided = await tx.query(
    `select 1 as one from removed_members
     where account_id = $1 and identity_hash = ${identityHash("$2::text", "$3::text")}
     union all
     select 1 from invitations where account_id = $1 and email = $4 and expires_at > $5`,
    [first, sanitizeText(issuer), sanitizeText(subject), email, now],
  );
  return decided.length > 0 ? undefined : { accountId: first, role: "member" };
}

/**
 * Stores the person's sign-in, and `membership` if it is set. Without it, only a person who belongs
 * to an account already is admitted. An existing role stays, unless the new one is `owner`, as by a
 * claim.
 */
async function join(
  tx: Queryable,
  { issuer, subject, email, name }: Identity,
  membership: JoinedAccount | undefined,
  { now, newPersonId, joined }: Pick<Context, "now" | "newPersonId" | "joined">,
): Promise<Admission> {
  const [existing] = await tx.query(
    `select p.id, (select min(account_id) from memberships m where m.person_id = p.id) as account_id
     from people p where p.issuer = $1 and p.subject = $2`,
    [sanitizeText(issuer), sanitizeText(subject)],
  );
  if (!membership && (existing?.account_id ?? null) === null) return { kind: "stranger" };
  const [person] = await tx.query(
    `insert into people (id, issuer, subject, email, name, created_at, signed_in_at)
     values ($1, $2, $3, $4, $5, $6, $6)
     on conflict (issuer, subject) do update set email = excluded.email, name = excluded.name,
       signed_in_at = excluded.signed_in_at
     returning id`,
    [newPersonId, sanitizeText(issuer), sanitizeText(subject), email, sanitizeText(name), now],
  );
  const personId = String(person!.id);
  if (!membership) return { kind: "admitted", personId, accountId: Number(existing!.account_id) };
  const made = await tx.query(
    `insert into memberships (account_id, person_id, role, created_at) values ($1, $2, $3, $4)
     on conflict (account_id, person_id) do update set role = excluded.role
       where excluded.role = 'owner'
     returning role`,
    [membership.accountId, personId, membership.role, now],
  );
  const { accountId, role } = membership;
  if (made.length > 0) await writeAudit(tx, joined?.({ accountId, personId, role }));
  return { kind: "admitted", personId, accountId };
}
