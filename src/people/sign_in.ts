import type { AuditNote } from "../audit/audit.ts";
import type { Identity, Person, Role } from "./person.ts";

/** The time limit of a sign-in, and of the consent that it may need. */
export const signInMs = 10 * 60_000;
/** How long a sign-in link that an operator creates works. */
export const linkMs = 10 * 60_000;
/** How long a claim link works; every start prints a new one. */
export const claimMs = 24 * 3_600_000;

/** A sign-in under way, with hashes of tokens. */
export interface SignInStart {
  /** Hash of the provider's `state`, or of the browser's token once consent is asked for. */
  stateHash: string;
  /** The path of the dashboard to go to afterwards. */
  returnTo: string;
  claimHash: string | null;
  invitationHash: string | null;
  /** The person whom the provider vouched for, while waiting for consent; null before. */
  identity: Identity | null;
  expiresAt: Date;
}

/** The account and role that a claim link or an invitation offers. */
export interface Offer {
  accountName: string;
  role: Role;
}

/**
 * The result for a person who was vouched for. `asks`: they must first agree to the offer of the
 * claim link or invitation with this hash. `stranger`: they belong to no account. `claim_void`: the
 * claim link was used, has expired or was never printed. `invitation_void`: the same for an
 * invitation. `other_address`: the invitation is for another verified address. `link_void`: a
 * sign-in link was used, has expired or was never printed.
 */
export type Admission =
  | { kind: "admitted"; personId: string; accountId: number }
  | { kind: "asks"; claimHash: string | null; invitationHash: string | null }
  | { kind: "stranger" | "claim_void" | "invitation_void" | "other_address" | "link_void" };

/** The person whom a sign-in link signs in. */
export interface LinkOffer {
  /** The e-mail address, or else the display name. */
  name: string;
}

/** The role that a person got in an account. */
export interface JoinedMembership {
  accountId: number;
  personId: string;
  role: Role;
}

/** Stores sign-ins, and decides who is admitted. Implemented in `src/people/store/sign_ins.ts`. */
export interface SignInStore {
  begin(start: SignInStart, now: Date): Promise<void>;
  take(stateHash: string, now: Date): Promise<SignInStart | undefined>;
  /** Like `take`, but keeps the sign-in. */
  find(stateHash: string, now: Date): Promise<SignInStart | undefined>;
  /** Returns the offer of these links; undefined when they are void or there is none. */
  offer(links: Pick<SignInStart, "claimHash" | "invitationHash">, now: Date): Promise<
    Offer | undefined
  >;
  /**
   * Admits a person who belongs to an account already, or has the claim link (as owner of the first
   * account, while it has none), an invitation, a group with a role (in the first account) or an
   * address of an allowed domain (as member of the first account). By such a group or domain, people
   * of other accounts join the first one too. A group's role replaces the role of a member of the
   * first account. Claims and invitations require `hasAgreed`, since anybody may have made the person
   * open a link: without it nothing changes and the result is `asks`. Nothing is stored about a
   * stranger. `joined` builds the audit entry for joining an account, written in the same
   * transaction.
   */
  admit(identity: Identity, start: Pick<SignInStart, "claimHash" | "invitationHash">, context: {
    now: Date;
    newPersonId: string;
    allowedDomains: readonly string[];
    hasAgreed: boolean;
    joined?: (membership: JoinedMembership) => AuditNote;
    /** Builds the audit entry for a role that the provider's groups changed from `was`. */
    roleChanged?: (membership: JoinedMembership & { was: Role }) => AuditNote;
  }): Promise<Admission>;
  /**
   * Stores the hash of a sign-in link's token for `linkMs`, and returns whom the link signs in: the
   * person with the address or, without one, the first account's owner. While the first account has
   * no owner, a new person becomes its owner by the link (`becomesOwner`). Undefined: nobody has that
   * address.
   */
  offerLink(
    link: { tokenHash: string; email: string | undefined; now: Date },
    offered?: (link: { accountId: number; name: string }) => AuditNote,
  ): Promise<LinkOffer & { becomesOwner: boolean } | undefined>;
  /** Returns whom a link signs in; undefined: it was used, has expired or never existed. */
  lookUpLink(tokenHash: string, now: Date): Promise<LinkOffer | undefined>;
  /** Uses up the link and admits its person, as owner of the first account while it has none. */
  admitByLink(tokenHash: string, context: {
    now: Date;
    newPersonId: string;
    signedIn?: (admitted: { accountId: number; person: Person }) => AuditNote;
  }): Promise<Admission>;
  /** Stores the hash of a claim link's token; false if the first account has an owner. */
  offerClaim(tokenHash: string, now: Date): Promise<boolean>;
  /** Whether the first account has an owner. */
  hasOwner(): Promise<boolean>;
}
