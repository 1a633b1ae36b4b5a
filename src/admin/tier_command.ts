import { type Account, type AccountStore, type Tier, tierLimits } from "../keys/account.ts";
import type { ApiKeyStore } from "../keys/api_key.ts";
import { maxRateNumber } from "../rate_limits/rate_limit.ts";
import {
  type Command,
  type CommandResult,
  done,
  findAccount,
  optional,
  UsageError,
  type Values,
} from "./command.ts";

/** What the command works on. */
export interface TierDeps {
  accounts: AccountStore;
  apiKeys: ApiKeyStore;
  /** Told which keys now mean something else. */
  keysChanged: (ids: readonly string[]) => void;
}

/** `account tier`: gives an account the limits of a tier, which fills its rate bucket. */
export const tierCommands: Readonly<Record<string, Command<TierDeps>>> = {
  "account tier": {
    summary: "Gives an account the rate limits of a tier.",
    example: "account tier team enterprise --rpm 6000 --burst 6000",
    usage: "account tier A free|pro|enterprise [--rpm N --burst N]",
    options: { rpm: { type: "string" }, burst: { type: "string" } },
    positionals: ["A", "TIER"],
    run: changeTier,
  },
};

async function changeTier(
  deps: TierDeps,
  values: Values,
  [idOrName, tier]: readonly string[],
): Promise<CommandResult> {
  const account = await findAccount(deps.accounts, idOrName!);
  const changed = await deps.accounts.setTier(account.id, limitsOf(account, tier!, values));
  if (!changed) throw new Error(`No account has the id ${account.id}.`);
  const keys = await deps.apiKeys.list(account.id);
  deps.keysChanged(keys.map(({ id }) => id));
  const { id, name, requestsPerMinute, burst } = changed;
  return done(
    { id, name, tier: changed.tier, requests_per_minute: requestsPerMinute, burst },
    [`Account '${name}' is ${tier} now: ${requestsPerMinute} requests a minute, burst ${burst}.`],
  );
}

type Limits = { tier: Tier; requestsPerMinute: number; burst: number };

/** Enterprise takes its numbers; an account that is enterprise keeps those that are not given. */
function limitsOf(account: Account, tier: string, values: Values): Limits {
  const rpm = optional(values, "rpm");
  const burst = optional(values, "burst");
  if (tier === "free" || tier === "pro") {
    if (rpm === undefined && burst === undefined) return { tier, ...tierLimits[tier] };
    throw new UsageError(`--rpm and --burst are for enterprise; ${tier} has fixed numbers`);
  }
  if (tier !== "enterprise") {
    throw new UsageError(`'${tier}' is no tier: expected free, pro or enterprise`);
  }
  const old = account.tier === "enterprise" ? account : undefined;
  return {
    tier,
    requestsPerMinute: amount("rpm", rpm, old?.requestsPerMinute),
    burst: amount("burst", burst, old?.burst),
  };
}

function amount(name: string, value: string | undefined, old: number | undefined): number {
  if (value === undefined && old !== undefined) return old;
  if (value === undefined) throw new UsageError(`--${name} is missing: enterprise has no numbers`);
  const number = /^\d{1,9}$/.test(value) ? Number(value) : 0;
  if (number >= 1 && number <= maxRateNumber) return number;
  throw new UsageError(`--${name} ${value}: expected a whole number from 1 to ${maxRateNumber}`);
}
