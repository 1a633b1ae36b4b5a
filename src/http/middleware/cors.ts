import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import type { Env } from "../request_context.ts";

/** Lets the named origins call from browsers; `OPTIONS` is answered without a key. */
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
