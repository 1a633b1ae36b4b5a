import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import type { ErrorDialect } from "../../../contracts/kernel/contract.ts";
import { pageHeaders, securityHeaders } from "../respond.ts";
import type { Env } from "../request_context.ts";

/**
 * Adds the security headers to every response. A response to a key is never cached; others may set
 * their own `cache-control`.
 */
export function secure(
  errorDialect: (path: string) => ErrorDialect,
): MiddlewareHandler<Env> {
  return async (context, next) => {
    await next();
    const requestContext = context.get("requestContext");
    const { headers } = context.res;
    const add = (all: Readonly<Record<string, string>>) => {
      for (const [name, value] of Object.entries(all)) {
        if (!headers.has(name)) headers.set(name, value);
      }
    };
    add(securityHeaders);
    if (requestContext.principal !== undefined) {
      if (!headers.get("cache-control")?.includes("no-store")) {
        headers.set("cache-control", "no-store");
      }
    } else {
      add(pageHeaders);
      if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
    }
    if (!headers.has("x-request-id")) headers.set("x-request-id", requestContext.requestId);
    // Clients of the messages dialect read it from here (`_request_id`, `APIError.requestID`).
    if (errorDialect(context.req.path) === "messages") {
      headers.set("request-id", requestContext.requestId);
    }
  };
}

/** Lets browsers call from these origins; `OPTIONS` needs no key. */
export function allowOrigins(origins: readonly string[]): MiddlewareHandler<Env> {
  return cors({
    origin: (origin) => origins.includes(origin) ? origin : null,
    allowMethods: ["GET", "POST", "DELETE", "OPTIONS"],
    exposeHeaders: [
      "X-Request-ID",
      "X-Transaction-ID",
      "X-Vendor-Request-ID",
      "Request-ID",
      "X-RateLimit-Limit",
      "X-RateLimit-Remaining",
      "X-RateLimit-Reset",
      "Retry-After",
      "X-Translation-Loss",
      "X-Idempotent-Replay",
      "X-Token-Count",
      "ETag",
      "Content-Range",
    ],
    maxAge: 600,
  });
}
