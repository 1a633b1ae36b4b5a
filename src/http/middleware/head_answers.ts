import type { MiddlewareHandler } from "hono";

/**
 * Cancels the body of an answer to HEAD. The framework answers it as GET and then only drops the
 * body: a file or a connection that the body reads from would stay open.
 */
export const cancelHeadBody: MiddlewareHandler = async (context, next) => {
  await next();
  if (context.req.method === "HEAD") await context.res.body?.cancel().catch(() => {});
};
