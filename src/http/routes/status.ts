import { contracts } from "../../../contracts/mod.ts";
import type { Clock } from "../../base/clock.ts";
import { nanosToUsd } from "../../base/money.ts";
import type { CreditSummary } from "../../credit/credit_summary.ts";
import type { ApiKey } from "../../keys/api_key.ts";
import type { Endpoints } from "../bind.ts";

const serviceName = "llm-gateway";

export type StatusRouteDeps = {
  clock: Clock;
  version: string;
  /** The scopes of a key that names none. */
  impliedScopes: readonly string[];
  /** Undefined while the store can't be reached: the key is still verified. */
  creditSummary: (key: ApiKey) => Promise<CreditSummary | undefined>;
};

/** Mounts `GET /api/v1/status`, which verifies the key and says what it may do. */
export function statusRoutes(app: Endpoints, deps: StatusRouteDeps): void {
  app.bind(contracts.status, async ({ caller }) => {
    const { account, key } = caller.principal;
    const summary = await deps.creditSummary(key);
    return {
      status: "ok" as const,
      project: account.name,
      service: serviceName,
      version: deps.version,
      timestamp: deps.clock.now().toISOString(),
      user_id: account.id,
      authenticated: true as const,
      balance_usd: summary ? nanosToUsd(summary.balanceNanos) : null,
      scopes: [...(key.scopes.length === 0 ? deps.impliedScopes : key.scopes)],
      caps: {
        day: cap(key.capDayNanos, summary?.dayNanos),
        month: cap(key.capMonthNanos, summary?.monthNanos),
      },
      rate_limit: { requests_per_minute: account.requestsPerMinute, burst: account.burst },
    };
  });
}

function cap(limitNanos: bigint | null, chargedNanos: bigint | undefined) {
  if (limitNanos === null) return null;
  return {
    limit_usd: nanosToUsd(limitNanos),
    charged_usd: chargedNanos === undefined ? null : nanosToUsd(chargedNanos),
  };
}
