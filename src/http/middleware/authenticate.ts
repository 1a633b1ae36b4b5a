import type { MiddlewareHandler } from "hono";
import type { ErrorDialect } from "../../../contracts/contract.ts";
import { parseCredential } from "../../domain/credential.ts";
import { Fault } from "../../domain/fault.ts";
import type { KeyRing } from "../../domain/key_ring.ts";
import { asFault, errorReply } from "../errors.ts";
import { toResponse } from "../respond.ts";
import type { FrontDoor } from "../front_door.ts";
import type { Env, Scene } from "../scene.ts";

/**
 * Every path behind this needs a service key, unknown paths too. A key in the query is never
 * looked at (spec.md, Credentials 3).
 */
export function authenticate(
  parts: {
    keyRing: KeyRing;
    errorDialect: (path: string) => ErrorDialect;
    onFault: (fault: Fault, requestId: string) => void;
    /** Whose the credential is. */
    knows?: FrontDoor["knows"] | undefined;
  },
): MiddlewareHandler<Env> {
  return async (context, next) => {
    const scene = context.get("scene");
    const path = context.req.path;
    try {
      // The vendors' own client of the generate dialect sends its key in a header of its own.
      const googleAllowed = parts.errorDialect(path) === "generate";
      await identify(scene, googleAllowed, (name) => context.req.header(name), parts.keyRing);
      if (scene.principal) {
        parts.knows?.((name) => context.req.header(name), scene.principal.account.id);
      }
    } catch (thrown) {
      const fault = asFault(thrown);
      parts.onFault(fault, scene.requestId);
      return toResponse(errorReply(fault, parts.errorDialect(path), scene.requestId), scene);
    }
    return await next();
  };
}

async function identify(
  scene: Scene,
  googleAllowed: boolean,
  header: (name: string) => string | undefined,
  keyRing: KeyRing,
): Promise<void> {
  const credential = parseCredential({
    authorization: header("authorization"),
    xApiKey: header("x-api-key"),
    xGoogApiKey: header("x-goog-api-key"),
  }, { googleAllowed });
  if (credential.kind === "missing") throw new Fault("missing_api_key");
  if (credential.kind === "malformed") throw new Fault("invalid_api_key");
  scene.principal = await keyRing.verify(credential.value);
  scene.vendorKey = credential.vendorKey;
}
