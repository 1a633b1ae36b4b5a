import type { Account, Tier } from "../../keys/account.ts";
import type { NewApiKey } from "../../keys/api_key.ts";
import { firstAccount, insertAccount } from "../../keys/store/accounts.ts";
import { insertKey } from "../../keys/store/api_keys.ts";
import type { Database } from "../../database/database.ts";
import { credit } from "../../credit/store/ledger.ts";

/**
 * Creates the first account and its key if there is no account yet. Of two processes that start at
 * the same time, only one gets `created: true`.
 */
export async function ensureFirstAccount(database: Database, first: {
  account: { name: string; tier: Tier; requestsPerMinute: number; burst: number };
  key: Omit<NewApiKey, "accountId">;
  creditNanos: bigint;
}): Promise<{ account: Account; created: boolean }> {
  return await database.transaction(async (tx) => {
    await tx.query("select pg_advisory_xact_lock($1)", [firstAccountLock]);
    const existing = await firstAccount(tx);
    if (existing) return { account: existing, created: false };
    const account = await insertAccount(tx, first.account);
    await insertKey(tx, { ...first.key, accountId: account.id });
    if (first.creditNanos > 0n) {
      await credit(tx, "grant", account.id, first.creditNanos, { note: "starting credit" });
    }
    return { account, created: true };
  });
}

/** Key of the advisory lock under which the first account is created. */
const firstAccountLock = 7_305_112_604_911;
