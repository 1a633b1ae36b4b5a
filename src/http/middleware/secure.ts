import type { MiddlewareHandler } from "hono";
import type { ErrorDialect } from "../../../contracts/kernel/contract.ts";
import { pageHeaders, securityHeaders } from "../respond.ts";
import type { Env } from "../request_context.ts";

/**
 * Puts the security headers on whatever answer comes out, whoever made it. What is for one key is
 * kept by nobody on the way; the rest may say for itself how long it may be kept.
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
    // The messages dialect's own clients look for it here (`_request_id`, `APIError.requestID`).
    if (errorDialect(context.req.path) === "messages") {
      headers.set("request-id", requestContext.requestId);
    }
  };
}
