import * as oauth from "oauth4webapi";
import {
  authorizeAddress,
  checkEndpoint,
  claimOf,
  exchange,
  identityOf,
  type IdentityProvider,
  isVerified,
  ProviderError,
  requestOptions,
  type RoleSettings,
  type SignInSettings,
} from "./identity_provider.ts";

/** Creates an OpenID provider from its issuer (OpenID Connect Discovery 1.0). */
export function createOpenIdProvider(
  { issuer, clientId, clientSecret, scopes, roles }: SignInSettings & { issuer: string },
  redirectUri: string,
): IdentityProvider {
  const client: oauth.Client = { client_id: clientId };
  const options = () => requestOptions(issuer);
  return {
    authorizeUrl: (flow) =>
      exchange(async () => {
        const { authorization_endpoint: endpoint } = await discover(issuer);
        if (endpoint === undefined) throw new Error("the provider names no authorization endpoint");
        checkEndpoint(endpoint, issuer);
        const scope = scopes ?? "openid email profile";
        const params = {
          client_id: clientId,
          redirect_uri: redirectUri,
          scope,
          nonce: flow.nonce,
        };
        return await authorizeAddress(endpoint, params, flow);
      }),
    identify: (callback, flow) =>
      exchange(async () => {
        const server = await discover(issuer);
        const params = oauth.validateAuthResponse(server, client, callback, flow.state);
        const answer = await oauth.authorizationCodeGrantRequest(
          server,
          client,
          authentication(server, clientSecret.reveal()),
          params,
          redirectUri,
          flow.codeVerifier,
          options(),
        );
        const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, {
          expectedNonce: flow.nonce,
          requireIdToken: true,
        });
        // TLS alone would be allowed to vouch for the issuer (OpenID Connect Core 1.0 §3.1.3.7);
        // the token's signature is checked too.
        await oauth.validateApplicationLevelSignature(server, answer, options());
        const claims = oauth.getValidatedIdTokenClaims(tokens);
        if (!claims) throw new ProviderError("unreachable", "there is no ID token", undefined);
        if (isWhole(claims, roles) || server.userinfo_endpoint === undefined) {
          return identityOf(server.issuer, claims.sub, claims, roles);
        }
        const more = await oauth.processUserInfoResponse(
          server,
          client,
          claims.sub,
          await oauth.userInfoRequest(server, client, tokens.access_token, options()),
        );
        return identityOf(server.issuer, claims.sub, joined(claims, more), roles);
      }),
  };
}

/** Whether an ID token has all claims that are needed; Okta's, for one, lacks `email_verified`. */
function isWhole(claims: Claims, roles: RoleSettings | undefined): boolean {
  const hasGroups = roles === undefined || claimOf(claims, roles.claim) !== undefined;
  return claims.email !== undefined && claims.email_verified !== undefined && hasGroups;
}

/** Joins the claims of ID token and user info; `email_verified` counts only for its own address. */
function joined(claims: Claims, more: Claims): Claims {
  const { email, email_verified } = isVerified(claims) ? claims : more;
  return { ...claims, ...more, email, email_verified };
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * Reads the provider's configuration. Not cached, since a provider may change its endpoints and keys
 * at any time; the library caches keys with the returned object.
 */
async function discover(issuer: string): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  const answer = await oauth.discoveryRequest(url, {
    algorithm: "oidc",
    ...requestOptions(issuer),
  });
  return await oauth.processDiscoveryResponse(url, answer);
}

/**
 * Returns client authentication by a method that the provider supports: in the header if it lists
 * none (OpenID Connect Discovery §3).
 */
function authentication(server: oauth.AuthorizationServer, secret: string): oauth.ClientAuth {
  const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return methods.includes("client_secret_basic")
    ? oauth.ClientSecretBasic(secret)
    : oauth.ClientSecretPost(secret);
}
