import type { MiddlewareHandler } from "hono";
import { toResponse } from "../respond.ts";
import type { Env } from "../request_context.ts";

/**
 * Behind a proxy that terminates TLS: redirects requests that reached the proxy in plain HTTP with
 * 308, which keeps method and body. Probes may stay plain.
 */
export function upgradePlain(baseUrl: string | undefined): MiddlewareHandler<Env> {
  return async (context, next) => {
    const proto = context.req.header("x-forwarded-proto")?.split(",").at(-1)?.trim().toLowerCase();
    if (proto !== "http" || probes.has(context.req.path)) return await next();
    return toResponse({
      status: 308,
      headers: {
        location: httpsAddress(context.req.url, context.req.header("host"), baseUrl),
        // It repeats the caller's `Host`, so it must not be cached for others.
        ...(baseUrl === undefined ? { "cache-control": "no-store" } : {}),
      },
      body: null,
    }, context.get("requestContext"));
  };
}

const probes: ReadonlySet<string> = new Set(["/livez", "/readyz"]);

/** The same URL with HTTPS: below `baseUrl` if set, else on the requested host. */
export function httpsAddress(
  url: string,
  host: string | undefined,
  baseUrl: string | undefined,
  port?: number,
): string {
  const asked = new URL(url);
  const rest = asked.pathname + asked.search;
  if (baseUrl?.startsWith("https:")) return new URL(baseUrl).origin + rest;
  const name = (host ?? asked.host).replace(/:\d+$/, "");
  return `https://${name}${port === undefined || port === 443 ? "" : `:${port}`}${rest}`;
}
