import type { Account } from "../keys/account.ts";
import type { Person, Role } from "./person.ts";

/** The longest time from sign-in to the end of a session. */
export const sessionMs = 7 * 24 * 3_600_000;
/** A session that isn't used for this long ends. */
export const sessionIdleMs = 12 * 3_600_000;
/** A session's last use is written at most this often. */
export const seenEveryMs = 60_000;

/** A signed-in browser, with its person's current role. */
export interface Session {
  person: Person;
  account: Account;
  role: Role;
  /** Whether the person sees payloads. */
  seesPayloads: boolean;
  /** All accounts that the person belongs to. */
  accounts: readonly { id: number; name: string }[];
}

/**
 * Stores browsers' sessions, with hashes of tokens. Implemented in `src/people/store/sessions.ts`.
 */
export interface SessionStore {
  /** Starts a session, and ends `replaces` (a token's hash) in the same transaction. */
  start(
    session: { tokenHash: string; personId: string; accountId: number; now: Date },
    replaces: string | undefined,
  ): Promise<void>;
  /** Returns a session and stores its use; undefined when it ended or its person was removed. */
  find(tokenHash: string, now: Date): Promise<Session | undefined>;
  /** Switches to another of the person's accounts; false when they don't belong to it. */
  switchAccount(tokenHash: string, accountId: number): Promise<boolean>;
  end(tokenHash: string): Promise<void>;
  /** Ends every session of a person; returns their number. */
  endAll(personId: string): Promise<number>;
}
