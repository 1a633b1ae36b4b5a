import type { MiddlewareHandler } from "hono";
import type { Registry } from "../../vendors/registry.ts";

/**
 * Answers HEAD on the addresses that clients are given (`/chat`, `/anthropic`), by which some of them
 * see whether somebody is there: with nothing, and without a key.
 */
export function answerProbes(registry: Pick<Registry, "all">): MiddlewareHandler {
  const probed = new Set(["/chat"]);
  for (const { label, aliases } of registry.all) {
    for (const name of [label, ...aliases]) probed.add(`/${name}`);
  }
  return async (context, next) => {
    const { method, path } = context.req;
    if (method === "HEAD" && probed.has(path.replace(/\/$/, ""))) return context.body(null, 200);
    return await next();
  };
}
