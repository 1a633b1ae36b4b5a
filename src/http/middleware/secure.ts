import type { MiddlewareHandler } from "hono";
import { securityHeaders } from "../respond.ts";
import type { Env } from "../scene.ts";

/** Puts the security headers on whatever answer comes out, whoever made it. */
export function secure(): MiddlewareHandler<Env> {
  return async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(securityHeaders)) {
      if (!context.res.headers.has(name)) context.res.headers.set(name, value);
    }
    if (!context.res.headers.has("x-request-id")) {
      context.res.headers.set("x-request-id", context.get("scene").requestId);
    }
  };
}
