import type { MiddlewareHandler } from "hono";
import { errors } from "../../../contracts/kernel/errors.ts";
import { parseCredential } from "../../keys/credential.ts";
import type { FailureLimit } from "../../rate_limits/failure_limit.ts";
import { Fault, overLimit } from "../../shared/fault.ts";
import type { KeyCache } from "../../keys/key_cache.ts";
import type { ErrorDialectOf } from "../error_dialect.ts";
import { asFault, errorReply } from "../errors.ts";
import { toResponse } from "../respond.ts";
import type { Reply } from "../../relay/reply.ts";
import type { FrontDoor } from "../front_door.ts";
import type { HttpRequest } from "../http_request.ts";
import type { Env, OnFault, RequestContext } from "../request_context.ts";
import { clientHeaders } from "../../../contracts/kernel/client_headers.ts";

/**
 * Requires a service key on every path, including unknown ones. Keys in the query are never accepted.
 * An address with too many wrong keys gets 429 for the next one; valid keys are always accepted.
 */
export type Authenticate = (
  requestContext: RequestContext,
  request: Pick<HttpRequest, "path" | "header">,
) => Promise<Reply | undefined>;

/** Creates a function that sets the request's principal, or returns the refusal to answer with. */
export function createAuthenticate(deps: {
  keyCache: KeyCache;
  failures: FailureLimit;
  errorDialect: ErrorDialectOf;
  onFault: OnFault;
  /** Called with each valid credential and its account. */
  knows?: FrontDoor["knows"] | undefined;
}): Authenticate {
  return async (requestContext, { path, header }) => {
    try {
      const googleAllowed = clientHeaders[deps.errorDialect(path)].key !== undefined ||
        sharedModels.test(path) || googleCollections.test(path);
      const credential = credentialOf(header, googleAllowed);
      const isLimited = () => deps.failures.isReached(requestContext.remoteHost);
      requestContext.principal = await deps.keyCache.verify(credential.value, isLimited);
      requestContext.vendorKey = credential.vendorKey;
      deps.knows?.(header, requestContext.principal.account.id);
      return undefined;
    } catch (thrown) {
      const fault = orRateLimited(asFault(thrown), requestContext.remoteHost, deps.failures);
      deps.onFault(fault, requestContext);
      return errorReply(fault, deps.errorDialect(path, header), requestContext.requestId);
    }
  };
}

/** The model list of all dialects: some clients of the generate dialect read it below `/v1`. */
const sharedModels = /^(\/chat)?\/v1\/models(\/|$)/;

/**
 * What else Google's libraries ask for below `/v1`, which isn't offered: with the one header that
 * they send, they get as far as the 404 that says so.
 */
const googleCollections =
  /^(\/chat)?\/v1(alpha)?\/(files|cachedContents|interactions|batches|fileSearchStores|tunedModels|auth_tokens)(\/|:|$)/;

export function requireKey(authenticate: Authenticate): MiddlewareHandler<Env> {
  return async (context, next) => {
    const requestContext = context.get("requestContext");
    const { path } = context.req;
    const header = (name: string) => context.req.header(name);
    const refusal = await authenticate(requestContext, { path, header });
    return refusal === undefined ? await next() : toResponse(refusal, requestContext);
  };
}

const googleKeyElsewhere =
  "x-goog-api-key: this header is taken only on generate paths and /v1/models. Elsewhere send 'Authorization: Bearer <API_KEY>'.";

const originNotAllowed =
  "Browsers may call from the origins in CORS_ORIGINS, which the operator sets. Other requests need 'Authorization: Bearer <API_KEY>'.";

/** Mostly a vendor's key that was left in a client, or a key that was not copied whole. */
const notOurs =
  "Invalid API key. A key of this service starts with 'dmt_' and has 53 characters; a vendor's key may follow it after a semicolon.";

function credentialOf(header: (name: string) => string | undefined, googleAllowed: boolean) {
  const credential = parseCredential({
    authorization: header("authorization"),
    xApiKey: header("x-api-key"),
    xGoogApiKey: header("x-goog-api-key"),
  }, { googleAllowed });
  if (credential.kind === "missing") {
    // Browsers ask without a key. From the origins in CORS_ORIGINS they have been answered before.
    if (header("access-control-request-method") !== undefined) {
      throw new Fault("missing_api_key", { message: originNotAllowed });
    }
    // Google's clients send no other header, to endpoints that the service doesn't have as well.
    const isElsewhere = !googleAllowed && header("x-goog-api-key") !== undefined;
    throw new Fault("missing_api_key", isElsewhere ? { message: googleKeyElsewhere } : {});
  }
  if (credential.kind === "malformed") throw new Fault("invalid_api_key", { message: notOurs });
  if (credential.kind === "vendor_key") {
    throw new Fault("invalid_vendor_api_key", {
      message: `After the semicolon of '<API_KEY>;<VENDOR_KEY>': ${credential.problem}.`,
    });
  }
  return credential;
}

/** The fault itself, or 429 if the address has sent too many wrong keys. */
function orRateLimited(fault: Fault, address: string, failures: FailureLimit): Fault {
  if (errors[fault.code].status !== 401) return fault;
  const retryAfterSeconds = failures.fail(address);
  if (retryAfterSeconds === 0) return fault;
  return overLimit(
    "Too many requests without a valid API key came from this address. Retry after the time in Retry-After; requests with a valid key are answered.",
    retryAfterSeconds,
  );
}
