import type { MiddlewareHandler } from "hono";
import type { Registry } from "../../vendors/registry.ts";

/**
 * Answers HEAD on the base URLs that clients are configured with (`/chat`, `/anthropic`): some
 * clients check that way whether a server is there. The answer is empty and needs no key.
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
