import type { AuditNote } from "../audit/audit.ts";
import { allRows } from "../base/all_pages.ts";

export type Tier = "free" | "pro" | "enterprise";

export const tierLimits: Readonly<
  Record<"free" | "pro", { requestsPerMinute: number; burst: number }>
> = {
  free: { requestsPerMinute: 60, burst: 100 },
  pro: { requestsPerMinute: 600, burst: 1000 },
};

/** The first account is the operator's. */
export const operatorLimits = { requestsPerMinute: 1_000_000, burst: 1_000_000 };

/** The unit that pays: owns keys, credit, limits and records. */
export interface Account {
  /** Also the integer `user_id` of the status answer. */
  id: number;
  name: string;
  tier: Tier;
  requestsPerMinute: number;
  burst: number;
  createdAt: Date;
}

export interface AccountStore {
  /** Throws where the name is taken. Writes what `audit` returns to the audit log. */
  create(
    account: { name: string; tier: Tier; requestsPerMinute: number; burst: number },
    audit?: (made: Account) => AuditNote,
  ): Promise<Account>;
  /** By id (all digits) or by name; undefined when there is none. */
  find(idOrName: string): Promise<Account | undefined>;
  first(): Promise<Account | undefined>;
  /** Lists accounts by id, those after `after`. */
  page(page: { after: bigint | null; limit: number }): Promise<Account[]>;
  /**
   * Gives an account the limits that `change` returns, and fills its rate bucket; unchanged limits
   * have no effect. Undefined when there is no such account. Writes what `audit` returns to the
   * audit log.
   */
  setTier(
    id: number,
    change: (account: Account) => { tier: Tier; requestsPerMinute: number; burst: number },
    audit?: (before: Account, after: Account) => AuditNote,
  ): Promise<Account | undefined>;
}

/** Returns all accounts by id, read page by page. */
export function allAccounts(accounts: Pick<AccountStore, "page">): Promise<Account[]> {
  return allRows((last, limit) => accounts.page({ after: last ? BigInt(last.id) : null, limit }));
}
