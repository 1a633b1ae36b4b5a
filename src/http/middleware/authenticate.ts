import type { MiddlewareHandler } from "hono";
import type { ErrorDialect } from "../../../contracts/kernel/contract.ts";
import { errors } from "../../../contracts/kernel/errors.ts";
import { parseCredential } from "../../keys/credential.ts";
import type { FailureLimit } from "../../rate_limits/failure_limit.ts";
import { Fault } from "../../shared/fault.ts";
import type { KeyCache } from "../../keys/key_cache.ts";
import { asFault, errorReply } from "../errors.ts";
import { toResponse } from "../respond.ts";
import type { FrontDoor } from "../front_door.ts";
import type { Env, RequestContext } from "../request_context.ts";

/**
 * Requires a service key on every path, including unknown ones. Keys in the query are never accepted.
 * An address with too many wrong keys gets 429 for the next one; valid keys are always accepted.
 */
export function authenticate(
  deps: {
    keyCache: KeyCache;
    failures: FailureLimit;
    errorDialect: (path: string) => ErrorDialect;
    onFault: (fault: Fault, requestId: string) => void;
    /** Reports whose credential it is. */
    knows?: FrontDoor["knows"] | undefined;
  },
): MiddlewareHandler<Env> {
  return async (context, next) => {
    const requestContext = context.get("requestContext");
    const path = context.req.path;
    try {
      // Clients of the generate dialect send the key in a header of their own.
      const googleAllowed = deps.errorDialect(path) === "generate";
      await identify(requestContext, googleAllowed, (name) => context.req.header(name), deps);
      if (requestContext.principal) {
        deps.knows?.((name) => context.req.header(name), requestContext.principal.account.id);
      }
    } catch (thrown) {
      const fault = orTooMany(asFault(thrown), requestContext.remoteHost, deps.failures);
      deps.onFault(fault, requestContext.requestId);
      return toResponse(
        errorReply(fault, deps.errorDialect(path), requestContext.requestId),
        requestContext,
      );
    }
    return await next();
  };
}

async function identify(
  requestContext: RequestContext,
  googleAllowed: boolean,
  header: (name: string) => string | undefined,
  { keyCache, failures }: { keyCache: KeyCache; failures: FailureLimit },
): Promise<void> {
  const credential = parseCredential({
    authorization: header("authorization"),
    xApiKey: header("x-api-key"),
    xGoogApiKey: header("x-goog-api-key"),
  }, { googleAllowed });
  if (credential.kind === "missing") throw new Fault("missing_api_key");
  if (credential.kind === "malformed") throw new Fault("invalid_api_key");
  const isLimited = () => failures.isReached(requestContext.remoteHost);
  requestContext.principal = await keyCache.verify(credential.value, isLimited);
  requestContext.vendorKey = credential.vendorKey;
}

/** The fault itself, or 429 if the address has sent too many wrong keys. */
function orTooMany(fault: Fault, address: string, failures: FailureLimit): Fault {
  if (errors[fault.code].status !== 401) return fault;
  const retryAfterSeconds = failures.fail(address);
  if (retryAfterSeconds === 0) return fault;
  return new Fault("rate_limit_exceeded", {
    retryAfterSeconds,
    message:
      "Too many requests without a valid API key came from this address. Retry after the time in Retry-After; requests with a valid key are answered.",
  });
}
