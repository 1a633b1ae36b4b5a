import type { AuditNote } from "../audit/audit.ts";

/**
 * What a person may do in an account: a `viewer` reads, a `member` also creates keys, an `owner`
 * may do everything.
 */
export type Role = "owner" | "member" | "viewer";

export const roles: readonly Role[] = ["owner", "member", "viewer"];

/** Whether a person with `role` may do what requires `needed`. */
export function mayAs(role: Role, needed: Role): boolean {
  return roles.indexOf(role) <= roles.indexOf(needed);
}

/** A person, as vouched for by the identity provider. */
export interface Identity {
  /** The provider's name for itself. */
  issuer: string;
  /** The provider's id of the person, the only name that is never given to another person. */
  subject: string;
  /** In lower case; null unless the provider says that it is verified. */
  email: string | null;
  /** The display name. */
  name: string;
  /** The role that the provider's groups give in the first account; absent: no group gives one. */
  role?: Role;
}

export interface Person {
  id: string;
  email: string | null;
  name: string;
}

/** A person's membership in an account. */
export interface Membership {
  person: Person;
  role: Role;
  /** Whether the person sees payloads; a viewer does only if an owner allows it. */
  payloads: boolean;
  createdAt: Date;
  signedInAt: Date;
}

/** The member after which a page of the list begins. */
export interface MembershipCursor extends Pick<Membership, "createdAt"> {
  person: Pick<Person, "id">;
}

export interface Invitation {
  id: string;
  /** Empty: for whoever opens the link first. */
  email: string;
  role: Role;
  createdAt: Date;
  expiresAt: Date;
}

/** The invitation after which a page of the list begins. */
export type InvitationCursor = Pick<Invitation, "createdAt" | "id">;

/** How long an invitation's link works. */
export const invitationMs = 7 * 24 * 3_600_000;

/** Returns the domain of an e-mail address, in lower case. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf("@") + 1).toLowerCase();
}

/** Why a person can't be removed or their role changed. */
export type Refusal = "not_found" | "last_owner";

/**
 * Builds the audit entry for a change of a member, who had the role `was`, and whose invitation may
 * have been withdrawn.
 */
export type MemberAudit = (
  person: Person,
  change: { was: Role; isWithdrawn: boolean },
) => AuditNote;

export interface Removed extends Person {
  revokedKeyIds: readonly string[];
}

/**
 * Stores who belongs to which account. Audit entries, built by `audit`, are written in the
 * transaction of the change. Implemented in `src/people/store/people.ts`.
 */
export interface PeopleStore {
  /** Lists members, those who joined first first; `limit` of them after `after`, or all. */
  list(
    accountId: number,
    page?: { after?: MembershipCursor | undefined; limit?: number },
  ): Promise<Membership[]>;
  findMember(accountId: number, personId: string): Promise<Membership | undefined>;
  /** Lists open invitations, the earliest first; `limit` of them after `after`, or all. */
  invitations(
    accountId: number,
    now: Date,
    page?: { after?: InvitationCursor | undefined; limit?: number },
  ): Promise<Invitation[]>;
  /** Invites an address, in place of an earlier invitation of the same address. */
  invite(
    accountId: number,
    invitation: Invitation & { tokenHash: string },
    audit?: AuditNote,
  ): Promise<void>;
  /** Withdraws an invitation and returns its address; undefined when there was none. */
  withdraw(
    accountId: number,
    invitationId: string,
    audit?: (email: string) => AuditNote,
  ): Promise<string | undefined>;
  /**
   * Changes a person's role, and withdraws an invitation of their address; no other invitation from
   * before works for the person any more. An account keeps at least one owner.
   */
  changeRole(
    accountId: number,
    personId: string,
    role: Role,
    audit?: MemberAudit,
    /** Whether the person, as a viewer, sees payloads. */
    payloads?: boolean,
  ): Promise<Person | Refusal>;
  /**
   * Removes a person from an account, ends their sessions there and withdraws an invitation of their
   * address; no other invitation from before works for the person any more. An account keeps at
   * least one owner. With `revoked`, the keys that they created are revoked too, each with the audit
   * entry that it returns.
   */
  remove(
    accountId: number,
    personId: string,
    audit?: MemberAudit,
    revoked?: ((key: { name: string; prefix: string }) => AuditNote) | null,
  ): Promise<Removed | Refusal>;
}
