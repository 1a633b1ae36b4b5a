import type { AuditNote } from "../audit/audit.ts";
import type { Identity, Role } from "./person.ts";

/** A sign-in must be finished within this; so must the consent that it may need. */
export const signInMs = 10 * 60_000;
/** How long a sign-in link of the operator's works. */
export const linkMs = 10 * 60_000;
/** How long a claim link works; every start prints another one. */
export const claimMs = 24 * 3_600_000;

/** A sign-in under way; tokens as hashes. */
export interface SignInStart {
  /** Of the provider's `state`; of the browser's own token once the person is asked for consent. */
  stateHash: string;
  /** Where the person goes afterwards: a path of the dashboard. */
  returnTo: string;
  claimHash: string | null;
  invitationHash: string | null;
  /** Whom the provider vouched for, while consent is waited for; null before. */
  identity: Identity | null;
  expiresAt: Date;
}

/** What a claim link or an invitation gives. */
export interface Offer {
  accountName: string;
  role: Role;
}

/**
 * What becomes of a person who was vouched for. `asks`: they must agree first to what is offered,
 * by the claim link or invitation of these hashes. `stranger`: no account knows them. `claim_void`:
 * the claim link was used, is too old or was never printed. `invitation_void`: the same of an
 * invitation. `other_address`: the invitation is for another verified address. `link_void`: a
 * sign-in link was used, is too old or was never printed.
 */
export type Admission =
  | { kind: "admitted"; personId: string; accountId: number }
  | { kind: "asks"; claimHash: string | null; invitationHash: string | null }
  | { kind: "stranger" | "claim_void" | "invitation_void" | "other_address" | "link_void" };

/** Whom a sign-in link signs in. */
export interface LinkOffer {
  /** For people to read. */
  name: string;
}

/** Sign-ins and who is let in by them. Implemented in `src/people/store/sign_ins.ts`. */
export interface SignInStore {
  begin(start: SignInStart, now: Date): Promise<void>;
  take(stateHash: string, now: Date): Promise<SignInStart | undefined>;
  /** The same, and it stays. */
  look(stateHash: string, now: Date): Promise<SignInStart | undefined>;
  /** What these links give; undefined when they are void or there is none. */
  offer(links: Pick<SignInStart, "claimHash" | "invitationHash">, now: Date): Promise<
    Offer | undefined
  >;
  /**
   * Lets a person in who has the claim link (as owner of the first account, while there is none),
   * an invitation, a group that has a role (in the first account), an address of an allowed domain
   * (as its member), or belongs to an account already; a group's role replaces that of a member of
   * the first account. Claims and invitations take `hasAgreed`: a link of anybody's may have
   * brought the person here, so without it nothing changes and the answer is `asks`. Nothing is
   * kept of a stranger. Who joins an account is noted under `joined`, in the same transaction.
   */
  admit(identity: Identity, start: Pick<SignInStart, "claimHash" | "invitationHash">, context: {
    now: Date;
    newPersonId: string;
    allowedDomains: readonly string[];
    hasAgreed: boolean;
    joined?: (membership: { accountId: number; personId: string }) => AuditNote;
    /** A member of the first account has another role now, by the provider's groups. */
    roleChanged?: (membership: { accountId: number; personId: string; role: Role }) => AuditNote;
  }): Promise<Admission>;
  /**
   * Keeps the hash of a sign-in link's token (`linkMs`), and gives whom it signs in: the person of
   * an address; without one the first account's owner. While nobody owns the first account that is
   * somebody new, who becomes its owner by it. Undefined: nobody has that address.
   */
  offerLink(
    link: { tokenHash: string; email: string | undefined; now: Date },
    offered?: (link: { accountId: number; name: string }) => AuditNote,
  ): Promise<LinkOffer | undefined>;
  /** Whom a sign-in link signs in; undefined: it was used, is too old, or never was. */
  lookUpLink(tokenHash: string, now: Date): Promise<LinkOffer | undefined>;
  /** Ends the link and admits its person, as owner of the first account while it has none. */
  admitByLink(tokenHash: string, context: {
    now: Date;
    newPersonId: string;
    signedIn?: (person: { accountId: number; personId: string; name: string }) => AuditNote;
  }): Promise<Admission>;
  /** Keeps the hash of a claim link's token while the first account has no owner; else false. */
  offerClaim(tokenHash: string, now: Date): Promise<boolean>;
  /** Whether the first account has an owner. */
  hasOwner(): Promise<boolean>;
}
