import type { Account } from "./account.ts";
import type { Principal } from "./api_key.ts";

/**
 * The changes of keys and accounts, for processes that hold them in memory. Times are the
 * database's. Implemented in `src/keys/store/key_changes.ts`.
 */
export interface KeyChangeStore {
  /** Returns what changed at or after `since`, and the current time; for null, only the time. */
  changedSince(since: Date | null): Promise<KeyChanges>;
  /** Returns the held keys that changed at or after `since` and differ from what is held. */
  changedKeys(
    held: readonly Held<string>[],
    since: Date,
  ): Promise<{ principal: Principal; changedAt: Date }[]>;
  /** The same for accounts. */
  changedAccounts(
    held: readonly Held<number>[],
    since: Date,
  ): Promise<{ account: Account; changedAt: Date }[]>;
}

export interface KeyChanges {
  now: Date;
  /** Keys whose own row changed. */
  keys: ChangeList<string>;
  accounts: ChangeList<number>;
}

/** `many`: more than `maxListedChanges`, so that processes ask about the rows that they hold. */
export type ChangeList<Id> = readonly { id: Id; changedAt: Date }[] | "many";

/** Low, since each process lists an import of keys every second for a minute. */
export const maxListedChanges = 200;

/** A row in memory; `changedAt` in milliseconds as it was read, null where that isn't known. */
export interface Held<Id> {
  id: Id;
  changedAt: number | null;
}
