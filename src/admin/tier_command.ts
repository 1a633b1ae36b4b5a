import { changeAccountLimits } from "../administration/account_administration.ts";
import type { Clock } from "../base/clock.ts";
import type { AccountStore, Tier } from "../keys/account.ts";
import type { ApiKeyStore } from "../keys/api_key.ts";
import { maxRateNumber } from "../rate_limits/rate_limit.ts";
import {
  type Command,
  commandLineAt,
  type CommandResult,
  done,
  findAccount,
  optional,
  textOption,
  UsageError,
  type Values,
} from "./command.ts";

export interface TierDeps {
  accounts: AccountStore;
  apiKeys: ApiKeyStore;
  clock: Clock;
  /** Called with the ids of changed keys, so that caches drop them at once. */
  keysChanged: (ids: readonly string[]) => void;
}

/** `account tier`: gives an account the limits of a tier and fills its rate bucket. */
export const tierCommands: Readonly<Record<string, Command<TierDeps>>> = {
  "account tier": {
    summary: "Sets an account's tier, and with it its rate limits.",
    example: "account tier team enterprise --rpm 6000 --burst 6000",
    usage: "account tier ACCOUNT free|pro|enterprise [--rpm N --burst N]",
    options: { rpm: textOption, burst: textOption },
    positionals: ["ACCOUNT", "TIER"],
    run: changeTier,
  },
};

async function changeTier(
  deps: TierDeps,
  values: Values,
  [idOrName, tier]: readonly string[],
): Promise<CommandResult> {
  const account = await findAccount(deps.accounts, idOrName!);
  const options = {
    tier: tierOf(tier!),
    rpm: number(values, "rpm"),
    burst: number(values, "burst"),
  };
  const by = commandLineAt(deps.clock);
  const changed = await changeAccountLimits(deps, by, account, options);
  const { id, name, requestsPerMinute, burst } = changed;
  return done({ id, name, tier: changed.tier, requests_per_minute: requestsPerMinute, burst }, [
    `Account '${name}' is now ${tier}: ${requestsPerMinute} requests per minute, burst ${burst}.`,
  ]);
}

function tierOf(text: string): Tier {
  if (text === "free" || text === "pro" || text === "enterprise") return text;
  throw new UsageError(`'${text}' is not a tier: expected free, pro or enterprise`);
}

function number(values: Values, name: "rpm" | "burst"): number | undefined {
  const text = optional(values, name);
  if (text === undefined) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= maxRateNumber) return value;
  throw new UsageError(`--${name} ${text}: expected a whole number from 1 to ${maxRateNumber}`);
}
