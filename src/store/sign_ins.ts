import { domainOf, type Identity, type Role } from "../domain/person.ts";
import { type Admission, claimMs, type SignInStart, type SignInStore } from "../domain/sign_in.ts";
import { writeAudit } from "./audit.ts";
import type { Database, Queryable } from "./database.ts";
import { storable } from "./storable.ts";

export function createSignIns(database: Database): SignInStore {
  return {
    async begin({ stateHash, returnTo, claimHash, invitationHash, expiresAt }, now) {
      // Those that nobody came back to.
      await database.query("delete from sign_in_states where expires_at <= $1", [now]);
      await database.query(
        `insert into sign_in_states
           (state_hash, return_to, claim_hash, invitation_hash, expires_at)
         values ($1, $2, $3, $4, $5)`,
        [stateHash, returnTo, claimHash, invitationHash, expiresAt],
      );
    },
    async take(stateHash, now) {
      const [row] = await database.query(
        `delete from sign_in_states where state_hash = $1
         returning return_to, claim_hash, invitation_hash, expires_at`,
        [stateHash],
      );
      if (!row || (row.expires_at as Date) <= now) return undefined;
      return {
        stateHash,
        returnTo: String(row.return_to),
        claimHash: row.claim_hash as string | null,
        invitationHash: row.invitation_hash as string | null,
        expiresAt: row.expires_at as Date,
      };
    },
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
    async hasOwner() {
      const [row] = await database.query("select min(id) as id from accounts");
      return row?.id !== null && row?.id !== undefined && await isOwned(database, Number(row.id));
    },
  };
}

type Context = Parameters<SignInStore["admit"]>[2];

async function admit(
  tx: Queryable,
  identity: Identity,
  start: Pick<SignInStart, "claimHash" | "invitationHash">,
  context: Context,
): Promise<Admission> {
  const first = await lockFirstAccount(tx);
  if (start.claimHash !== null) {
    if (first === undefined || !await claim(tx, first, start.claimHash, context.now)) {
      return { kind: "claim_void" };
    }
    return await join(tx, identity, { accountId: first, role: "owner" }, context);
  }
  if (start.invitationHash !== null) {
    const invited = await byLink(tx, identity, start.invitationHash, context.now);
    return typeof invited === "string"
      ? { kind: invited }
      : await join(tx, identity, invited, context);
  }
  const known = await join(tx, identity, undefined, context);
  if (known.kind === "admitted") return known;
  const place = await byAddress(tx, identity, first, context);
  return place ? await join(tx, identity, place, context) : { kind: "stranger" };
}

interface Place {
  accountId: number;
  role: Role;
}

/** Claims and sign-ins come one after the other: two claims at once would make two owners. */
async function lockFirstAccount(tx: Queryable): Promise<number | undefined> {
  const [row] = await tx.query("select id from accounts order by id limit 1 for update");
  return row && Number(row.id);
}

async function isOwned(database: Queryable, accountId: number): Promise<boolean> {
  const rows = await database.query(
    "select 1 as one from memberships where account_id = $1 and role = 'owner' limit 1",
    [accountId],
  );
  return rows.length > 0;
}

async function claim(tx: Queryable, accountId: number, hash: string, now: Date): Promise<boolean> {
  const [row] = await tx.query("select expires_at from claim_tokens where token_hash = $1", [hash]);
  if (!row || (row.expires_at as Date) <= now || await isOwned(tx, accountId)) return false;
  await tx.query("delete from claim_tokens");
  return true;
}

/** An invitation taken by its link, once. The link of one verified address is of no use to another. */
async function byLink(
  tx: Queryable,
  identity: Identity,
  hash: string,
  now: Date,
): Promise<Place | "invitation_void" | "other_address"> {
  const [row] = await tx.query(
    `select id, account_id, email, role from invitations
     where token_hash = $1 and expires_at > $2 for update`,
    [hash, now],
  );
  if (!row) return "invitation_void";
  const isAnybodys = row.email === "";
  if (!isAnybodys && identity.email !== null && identity.email !== row.email) {
    return "other_address";
  }
  await tx.query("delete from invitations where id = $1", [String(row.id)]);
  return { accountId: Number(row.account_id), role: row.role as Role };
}

/** An invitation, or the place that an allowed domain gives; only for verified addresses. */
async function byAddress(
  tx: Queryable,
  { email }: Identity,
  first: number | undefined,
  { now, allowedDomains }: Context,
): Promise<Place | undefined> {
  if (email === null) return undefined;
  const [row] = await tx.query(
    `delete from invitations where id = (
       select id from invitations where email = $1 and expires_at > $2
       order by created_at limit 1) returning account_id, role`,
    [email, now],
  );
  if (row) return { accountId: Number(row.account_id), role: row.role as Role };
  if (first === undefined || !allowedDomains.includes(domainOf(email))) return undefined;
  return { accountId: first, role: "member" };
}

/**
 * Notes the person's sign-in, and the place if one is given. Without one only who belongs to an
 * account already is admitted. A role that is there stays, but for the one who claims.
 */
async function join(
  tx: Queryable,
  { issuer, subject, email, name }: Identity,
  place: Place | undefined,
  { now, newPersonId, joined }: Context,
): Promise<Admission> {
  const [known] = await tx.query(
    `select p.id, (select min(account_id) from memberships m where m.person_id = p.id) as account_id
     from people p where p.issuer = $1 and p.subject = $2`,
    [storable(issuer), storable(subject)],
  );
  if (!place && (known?.account_id ?? null) === null) return { kind: "stranger" };
  const [person] = await tx.query(
    `insert into people (id, issuer, subject, email, name, created_at, signed_in_at)
     values ($1, $2, $3, $4, $5, $6, $6)
     on conflict (issuer, subject) do update set email = excluded.email, name = excluded.name,
       signed_in_at = excluded.signed_in_at
     returning id`,
    [newPersonId, storable(issuer), storable(subject), email, storable(name), now],
  );
  const personId = String(person!.id);
  if (!place) {
    return { kind: "admitted", personId, accountId: Number(known!.account_id) };
  }
  const made = await tx.query(
    `insert into memberships (account_id, person_id, role, created_at) values ($1, $2, $3, $4)
     on conflict (account_id, person_id) do update set role = excluded.role
       where excluded.role = 'owner'
     returning role`,
    [place.accountId, personId, place.role, now],
  );
  const { accountId } = place;
  if (made.length > 0) await writeAudit(tx, joined?.({ accountId, personId }));
  return { kind: "admitted", personId, accountId };
}
