import type { Account } from "./account.ts";
import type { Principal } from "./api_key.ts";

/**
 * What keys and accounts have become in the store, for processes that hold them in memory. Times are
 * the database's. Implemented in `src/keys/store/key_changes.ts`.
 */
export interface KeyChangeStore {
  /** What changed at or after `since`, and the present time; null asks for the time alone. */
  changedSince(since: Date | null): Promise<KeyChanges>;
  /** Of the keys that are held, those that changed at or after `since` and differ from what is held. */
  changedKeys(
    held: readonly Held<string>[],
    since: Date,
  ): Promise<{ principal: Principal; changedAt: Date }[]>;
  /** The same of accounts. */
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

/** `many`: more than `maxListedChanges`, so that whoever holds few asks about these. */
export type ChangeList<Id> = readonly { id: Id; changedAt: Date }[] | "many";

/** An import of keys is listed each second for a minute, by each process. */
export const maxListedChanges = 200;

/** A row in memory; `changedAt` in milliseconds as it was read, null where that isn't known. */
export interface Held<Id> {
  id: Id;
  changedAt: number | null;
}
