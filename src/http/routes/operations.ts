import { contracts } from "../../../contracts/mod.ts";
import type { Secret } from "../../base/secret.ts";
import { sameText } from "../../base/hash.ts";
import { Fault } from "../../shared/fault.ts";
import type { Endpoints } from "../bind.ts";
import { isOwnHost } from "../own_address.ts";

/** Mounts the probes and the metrics, which need no service key. */
export function operationRoutes(
  app: Endpoints,
  deps: {
    ready: () => Promise<void>;
    metricsText: () => Promise<string>;
    settings: {
      metricsToken: Secret | undefined;
      /** The service is behind a proxy. */
      trustProxy: boolean;
      /** The address that the listener is bound to. */
      host: string;
    };
  },
): void {
  app.bindPublic(contracts.livez, () => ({ status: "ok" as const }));
  app.bindPublic(contracts.readyz, async () => {
    await deps.ready();
    return { status: "ok" as const };
  });
  // Behind a proxy on this machine, which may set no header, every caller seems to be on loopback.
  const { metricsToken, trustProxy, host } = deps.settings;
  const asksAlways = trustProxy || metricsToken !== undefined;
  app.bindPublic(contracts.metrics, async ({ peerHost, header }) => {
    // A web page in a browser on this machine can change what its own name resolves to (DNS
    // rebinding): its requests come from loopback too, but with that name as `Host`.
    const isNear = !asksAlways && isLoopback(peerHost) &&
      isOwnHost(header("host") ?? "", host) &&
      forwardedBy.every((name) => header(name) === undefined);
    if (!isNear && !holdsToken(header("authorization"), metricsToken)) {
      // To others the endpoint doesn't exist.
      throw new Fault("endpoint_not_found");
    }
    return {
      reply: {
        status: 200,
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
        body: await deps.metricsText(),
      },
    };
  });
}

/** Headers that proxies set: with one of them the peer is not the caller. */
const forwardedBy = [
  "x-forwarded-for",
  "forwarded",
  "x-real-ip",
  "x-forwarded-host",
  "x-forwarded-proto",
  "via",
] as const;

/** Loopback addresses only, not names that begin like one. */
function isLoopback(host: string): boolean {
  return /^(::ffff:)?127(\.\d{1,3}){3}$/i.test(host) || host === "::1";
}

function holdsToken(authorization: string | undefined, token: Secret | undefined): boolean {
  if (!token || !authorization) return false;
  return sameText(authorization.replace(/^Bearer +/i, ""), token.reveal());
}
