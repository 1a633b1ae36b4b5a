import type { Audited } from "../audit/audit.ts";
import { allPages } from "../base/all_pages.ts";
import { type Account, type AccountStore, type Tier, tierLimits } from "../keys/account.ts";
import type { ApiKey, ApiKeyStore } from "../keys/api_key.ts";
import { maxRateNumber } from "../rate_limits/rate_limit.ts";
import { Fault, missingOption, OptionError } from "../shared/fault.ts";
import { type Administrator, noteBy } from "./administration.ts";

/**
 * Creates an account of the tier `free`, without credit. Throws `OptionError`, and
 * `Fault("already_exists")` if the name is taken.
 */
export async function createAccount(
  { accounts }: { accounts: Pick<Audited<AccountStore>, "create" | "find"> },
  by: Administrator,
  text: string,
): Promise<Account> {
  const name = text.trim();
  if (/^\d+$/.test(name)) {
    throw new OptionError("name", "a name of digits alone would look like an id");
  }
  const refuseTaken = async () => {
    if (!await accounts.find(name)) return;
    const message = `An account named '${name}' exists already.`;
    throw new Fault("already_exists", { param: "name", message });
  };
  await refuseTaken();
  const account = { name, tier: "free", ...tierLimits.free } as const;
  const note = ({ id }: Account) => noteBy(by, id, "account.created", name, account.tier);
  return await accounts.create(account, note).catch(async (thrown) => {
    // Another request may have taken the name meanwhile.
    await refuseTaken();
    throw thrown;
  });
}

/** The change of an account's limits; absent fields stay as they are. */
export interface LimitOptions {
  tier?: Tier | undefined;
  /** Requests a minute, for enterprise. */
  rpm?: number | undefined;
  burst?: number | undefined;
}

/**
 * Sets an account's limits, which fills its rate bucket. Throws `OptionError` and
 * `Fault("account_not_found")`.
 */
export async function changeAccountLimits(
  { accounts, apiKeys, keysChanged }: {
    accounts: Pick<Audited<AccountStore>, "setTier">;
    apiKeys: Pick<ApiKeyStore, "page">;
    /** Is called with the keys that have other limits now. */
    keysChanged: (ids: readonly string[]) => void;
  },
  by: Administrator,
  account: Account,
  options: LimitOptions,
): Promise<Account> {
  const changed = await accounts.setTier(
    account.id,
    (current) => limitsOf(current, options),
    (before, after) => {
      const detail = `${limitsText(after)}; was ${before.tier}: ${limitsText(before)}`;
      return noteBy(by, after.id, "account.tier_changed", after.tier, detail);
    },
  );
  if (!changed) throw new Fault("account_not_found");
  const keys = allPages<ApiKey>((last, limit) =>
    apiKeys.page(account.id, { after: last?.id ?? null, limit })
  );
  for await (const page of keys) keysChanged(page.map(({ id }) => id));
  return changed;
}

function limitsText({ requestsPerMinute, burst }: Account): string {
  return `${requestsPerMinute} a minute, burst ${burst}`;
}

/** `enterprise` takes its own numbers; an account that has it already keeps absent ones. */
function limitsOf(account: Account, { tier = account.tier, rpm, burst }: LimitOptions) {
  if (tier !== "enterprise") {
    if (rpm === undefined && burst === undefined) return { tier, ...tierLimits[tier] };
    throw new OptionError(
      rpm === undefined ? "burst" : "rpm",
      `the limits of ${tier} are fixed; only those of enterprise can be set`,
    );
  }
  const old = account.tier === "enterprise" ? account : undefined;
  return {
    tier,
    requestsPerMinute: amount("rpm", rpm ?? old?.requestsPerMinute),
    burst: amount("burst", burst ?? old?.burst),
  };
}

function amount(field: "rpm" | "burst", value: number | undefined): number {
  if (value === undefined) throw missingOption(field, "enterprise needs rpm and burst");
  if (Number.isInteger(value) && value >= 1 && value <= maxRateNumber) return value;
  throw new OptionError(field, `expected a whole number from 1 to ${maxRateNumber}`);
}

/** Returns an account as the API shows it. */
export function accountView({ id, name, tier, requestsPerMinute, burst, createdAt }: Account) {
  return { id, name, tier, rpm: requestsPerMinute, burst, created_at: createdAt.toISOString() };
}
