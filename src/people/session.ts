import type { Account } from "../keys/account.ts";
import type { Person, Role } from "./person.ts";

/** A session ends this long after its sign-in, whatever happens. */
export const sessionMs = 7 * 24 * 3_600_000;
/** A session that nobody uses ends after this. */
export const sessionIdleMs = 12 * 3_600_000;
/** A session's last use is written at most this often. */
export const seenEveryMs = 60_000;

/** A signed-in browser, with what its person may do at this moment. */
export interface Session {
  person: Person;
  account: Account;
  role: Role;
  /** Whether the person sees what callers sent and received. */
  seesPayloads: boolean;
  /** All accounts that the person belongs to. */
  accounts: readonly { id: number; name: string }[];
}

/** Sessions of browsers; tokens come and go as hashes. Implemented in `src/people/store/sessions.ts`. */
export interface SessionStore {
  /** Starts a session; `replaces` ends in the same moment. */
  start(
    session: { tokenHash: string; personId: string; accountId: number; now: Date },
    replaces: string | undefined,
  ): Promise<void>;
  /** The session, noting that it was used; undefined when it ended or its person was removed. */
  find(tokenHash: string, now: Date): Promise<Session | undefined>;
  /** Lets the person look at another of their accounts. False when it isn't theirs. */
  switchAccount(tokenHash: string, accountId: number): Promise<boolean>;
  end(tokenHash: string): Promise<void>;
  /** Ends every session of a person; the number of them. */
  endAll(personId: string): Promise<number>;
}
