import type { Hono } from "hono";
import { contracts } from "../../../contracts/mod.ts";
import type { Clock } from "../../base/clock.ts";
import { bind, type BindDeps } from "../bind.ts";
import type { Env } from "../request_context.ts";

export const serviceName = "llm-gateway";

/** Mounts `GET /api/v1/status`, which verifies the key. */
export function statusRoutes(
  app: Hono<Env>,
  deps: BindDeps & { clock: Clock; version: string },
): void {
  bind(app, contracts.status, deps, ({ caller }) => ({
    status: "ok" as const,
    project: caller.principal.account.name,
    service: serviceName,
    version: deps.version,
    timestamp: deps.clock.now().toISOString(),
    user_id: caller.principal.account.id,
    authenticated: true as const,
  }));
}
