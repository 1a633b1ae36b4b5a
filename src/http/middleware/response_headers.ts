import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import type { ErrorDialect } from "../../../contracts/kernel/contract.ts";
import { type AnswerHeaders, pageHeaders, securityHeaders } from "../respond.ts";
import type { Env, RequestContext } from "../request_context.ts";
import { clientHeaders } from "../../../contracts/kernel/client_headers.ts";
import type { ErrorDialectOf } from "../error_dialect.ts";

/**
 * Adds the security headers to every response. A response to a key is never cached; others may set
 * their own `cache-control`.
 */
export function addServiceHeaders(
  headers: AnswerHeaders,
  { principal, requestId }: RequestContext,
  dialect: ErrorDialect,
): void {
  const add = (all: Readonly<Record<string, string>>) => {
    for (const name in all) if (!headers.has(name)) headers.set(name, all[name]!);
  };
  add(securityHeaders);
  if (principal !== undefined) {
    if (!headers.get("cache-control")?.includes("no-store")) {
      headers.set("cache-control", "no-store");
    }
  } else {
    add(pageHeaders);
    if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  }
  if (!headers.has("x-request-id")) headers.set("x-request-id", requestId);
  const { requestId: own } = clientHeaders[dialect];
  if (own !== undefined) headers.set(own, requestId);
}

export function secure(errorDialect: ErrorDialectOf): MiddlewareHandler<Env> {
  return async (context, next) => {
    await next();
    const dialect = errorDialect(context.req.path, (name) => context.req.header(name));
    addServiceHeaders(context.res.headers, context.get("requestContext"), dialect);
  };
}

/** Lets browsers call from these origins; `OPTIONS` needs no key. */
export function allowOrigins(origins: readonly string[]): MiddlewareHandler<Env> {
  return cors({
    origin: (origin) => origins.includes(origin) ? origin : null,
    allowMethods: ["GET", "POST", "PATCH", "DELETE", "OPTIONS"],
    exposeHeaders: [
      "X-Request-ID",
      "X-Transaction-ID",
      "X-Vendor-Request-ID",
      "Request-ID",
      "X-RateLimit-Limit",
      "X-RateLimit-Remaining",
      "X-RateLimit-Reset",
      "Retry-After",
      "X-Should-Retry",
      "X-Translation-Loss",
      "X-Renamed-Fields",
      "X-Model",
      "X-Attempts",
      "X-Audio-Characters",
      "X-Idempotent-Replay",
      "X-Cache",
      "Age",
      "X-Token-Count",
      "X-Cost-USD",
      "X-Charged-USD",
      "Server-Timing",
      "ETag",
      "Content-Range",
    ],
    maxAge: 600,
  });
}
