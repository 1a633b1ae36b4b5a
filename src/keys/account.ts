import type { AuditNote } from "../audit/audit.ts";

export type Tier = "free" | "pro" | "enterprise";

export const tierLimits: Readonly<
  Record<"free" | "pro", { requestsPerMinute: number; burst: number }>
> = {
  free: { requestsPerMinute: 60, burst: 100 },
  pro: { requestsPerMinute: 600, burst: 1000 },
};

/** The first account is the operator's. */
export const operatorLimits = { requestsPerMinute: 1_000_000, burst: 1_000_000 };

/** Who pays: owns keys, credit, limits and records. */
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
  /** Throws where the name is taken. Notes what `audit` gives. */
  create(
    account: { name: string; tier: Tier; requestsPerMinute: number; burst: number },
    audit?: (made: Account) => AuditNote,
  ): Promise<Account>;
  /** By id (all digits) or by name; undefined when there is none. */
  find(idOrName: string): Promise<Account | undefined>;
  first(): Promise<Account | undefined>;
  list(): Promise<Account[]>;
  /** By id, those behind `after`. */
  page(page: { after: bigint | null; limit: number }): Promise<Account[]>;
  /**
   * Gives an account the limits that `change` makes of those it has, which fills its rate bucket;
   * the same ones change nothing. Undefined when there is no such account. Notes what `audit` gives.
   */
  setTier(
    id: number,
    change: (account: Account) => { tier: Tier; requestsPerMinute: number; burst: number },
    audit?: (changed: Account) => AuditNote,
  ): Promise<Account | undefined>;
}
