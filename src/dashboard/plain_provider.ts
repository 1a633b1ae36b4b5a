import * as oauth from "oauth4webapi";
import {
  authorizeAddress,
  exchange,
  identityOf,
  type IdentityProvider,
  ProviderError,
  requestOptions,
  type SignInSettings,
} from "./identity_provider.ts";

/** Settings of a provider that supports OAuth 2.0 but not OpenID. */
type PlainSettings = SignInSettings & {
  authorizeUrl: string;
  tokenUrl: string;
  userinfoUrl: string;
};

/** Creates a plain OAuth 2.0 provider, which identifies the person by its userinfo endpoint. */
export function createPlainProvider(
  { authorizeUrl, tokenUrl, userinfoUrl, clientId, clientSecret, scopes, roles }: PlainSettings,
  redirectUri: string,
): IdentityProvider {
  const client: oauth.Client = { client_id: clientId };
  // Such a provider has no issuer, so the origin of its token endpoint identifies it.
  const server: oauth.AuthorizationServer = {
    issuer: new URL(tokenUrl).origin,
    authorization_endpoint: authorizeUrl,
    token_endpoint: tokenUrl,
  };
  return {
    authorizeUrl: (flow) => {
      const params = { client_id: clientId, redirect_uri: redirectUri };
      const scope: Record<string, string> = scopes === undefined ? {} : { scope: scopes };
      return authorizeAddress(authorizeUrl, { ...params, ...scope }, flow);
    },
    identify: (callback, flow) =>
      exchange(async () => {
        const params = oauth.validateAuthResponse(server, client, callback, flow.state);
        const answer = await oauth.authorizationCodeGrantRequest(
          server,
          client,
          oauth.ClientSecretPost(clientSecret.reveal()),
          params,
          redirectUri,
          flow.codeVerifier,
          requestOptions(tokenUrl),
        );
        const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer);
        const reply = await oauth.protectedResourceRequest(
          tokens.access_token,
          "GET",
          new URL(userinfoUrl),
          new Headers({ accept: "application/json", "user-agent": "demeter" }),
          null,
          requestOptions(userinfoUrl),
        );
        const person: unknown = reply.ok ? await reply.json() : undefined;
        const subject = subjectOf(person);
        if (subject === undefined) {
          throw new ProviderError("unreachable", "its user address names nobody", undefined);
        }
        return identityOf(server.issuer, subject, person as Record<string, unknown>, roles);
      }),
  };
}

/** Returns the person's id: OpenID's `sub`, which some of these providers have, or else `id`. */
function subjectOf(person: unknown): string | undefined {
  if (typeof person !== "object" || person === null) return undefined;
  const { sub, id } = person as Record<string, unknown>;
  const found = sub ?? id;
  const isName = typeof found === "string" && found !== "" || Number.isSafeInteger(found);
  return isName ? String(found) : undefined;
}
