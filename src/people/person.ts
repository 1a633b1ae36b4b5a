import type { AuditNote } from "../audit/audit.ts";

/** What a person may do in an account: `viewer` reads, `member` also makes keys, `owner` all. */
export type Role = "owner" | "member" | "viewer";

export const roles: readonly Role[] = ["owner", "member", "viewer"];

/** Whether who has `role` may do what takes `needed`. */
export function mayAs(role: Role, needed: Role): boolean {
  return roles.indexOf(role) <= roles.indexOf(needed);
}

/** A person as the identity provider vouches for it. */
export interface Identity {
  /** The provider's name for itself. */
  issuer: string;
  /** The provider's name for the person, the only one that never changes hands. */
  subject: string;
  /** In small letters; null unless the provider says that it is verified. */
  email: string | null;
  /** For people to read. */
  name: string;
  /** The role in the first account that the provider's groups give; absent: none of them does. */
  role?: Role;
}

export interface Person {
  id: string;
  email: string | null;
  name: string;
}

/** A person's place in an account. */
export interface Membership {
  person: Person;
  role: Role;
  /** Whether they see what callers sent and received: of viewers only those whom an owner lets. */
  payloads: boolean;
  createdAt: Date;
  signedInAt: Date;
}

export interface Invitation {
  id: string;
  /** Empty: it is for whoever opens the link first. */
  email: string;
  role: Role;
  createdAt: Date;
  expiresAt: Date;
}

/** How long an invitation's link works. */
export const invitationMs = 7 * 24 * 3_600_000;

/** The domain of an e-mail address, in small letters. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf("@") + 1).toLowerCase();
}

/** Why a person or role stays as it is. */
export type Refusal = "not_found" | "last_owner";

export interface Removed extends Person {
  revokedKeyIds: readonly string[];
}

/**
 * Who belongs to which account. What is done is noted in the same transaction, under `audit`.
 * Implemented in `src/people/store/people.ts`.
 */
export interface PeopleStore {
  list(accountId: number): Promise<Membership[]>;
  invitations(accountId: number, now: Date): Promise<Invitation[]>;
  /** Invites an address; an earlier invitation of the same one ends. */
  invite(
    accountId: number,
    invitation: Invitation & { tokenHash: string },
    audit?: AuditNote,
  ): Promise<void>;
  /** The address whose invitation is withdrawn; undefined when there was none. */
  withdraw(
    accountId: number,
    invitationId: string,
    audit?: (email: string) => AuditNote,
  ): Promise<string | undefined>;
  /** An account keeps at least one owner. */
  changeRole(
    accountId: number,
    personId: string,
    role: Role,
    audit?: (person: Person) => AuditNote,
    /** Whether a viewer sees payloads. */
    payloads?: boolean,
  ): Promise<Person | Refusal>;
  /**
   * Their sessions in the account end with it. An account keeps at least one owner. `revoked`: the
   * keys that they made end too, each noted under what it gives.
   */
  remove(
    accountId: number,
    personId: string,
    audit?: (person: Person) => AuditNote,
    revoked?: (key: { name: string; prefix: string }) => AuditNote,
  ): Promise<Removed | Refusal>;
}
