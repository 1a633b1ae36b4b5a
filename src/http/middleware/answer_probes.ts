import type { MiddlewareHandler } from "hono";

/**
 * Answers HEAD on these paths, which clients send to the address that they were given to see whether
 * somebody is there: with nothing, and without a key.
 */
export function answerProbes(paths: Iterable<string>): MiddlewareHandler {
  const probed = new Set(paths);
  return async (context, next) => {
    const { method, path } = context.req;
    if (method === "HEAD" && probed.has(path.replace(/\/$/, ""))) return context.body(null, 200);
    return await next();
  };
}
