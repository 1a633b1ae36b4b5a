import * as oauth from "oauth4webapi";
import {
  authorizeAddress,
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

/** An OpenID provider, found by its issuer (OpenID Connect Discovery 1.0). */
export function createOpenIdProvider(
  { issuer, clientId, clientSecret, scopes, roles }: SignInSettings & { issuer: string },
  redirectUri: string,
): IdentityProvider {
  const client: oauth.Client = { client_id: clientId };
  const options = () => requestOptions(issuer);
  /** The provider's keys, kept for some minutes; asked for anew when a token names another one. */
  const jwks: oauth.JWKSCacheInput = {};
  let found: Promise<oauth.AuthorizationServer> | undefined;
  const discover = () => {
    // A provider that was away is asked again by the next sign-in.
    found ??= read(issuer).catch((thrown) => {
      found = undefined;
      throw thrown;
    });
    return found;
  };
  return {
    authorizeUrl: (flow) =>
      exchange(async () => {
        const { authorization_endpoint: endpoint } = await discover();
        if (endpoint === undefined) throw new Error("the provider names no authorization endpoint");
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
        const server = await discover();
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
        // Not only TLS vouches for who issued the token (OpenID Connect Core 1.0 §3.1.3.7).
        await oauth.validateApplicationLevelSignature(server, answer, {
          ...options(),
          [oauth.jwksCache]: jwks,
        });
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

/** Whether an ID token says all that is needed; Okta's doesn't say that its address is verified. */
function isWhole(claims: Claims, roles: RoleSettings | undefined): boolean {
  const hasGroups = roles === undefined || claimOf(claims, roles.claim) !== undefined;
  return claims.email !== undefined && claims.email_verified !== undefined && hasGroups;
}

/** The ID token and the user info. Each vouches for its own address alone. */
function joined(claims: Claims, more: Claims): Claims {
  const { email, email_verified } = isVerified(claims) ? claims : more;
  return { ...claims, ...more, email, email_verified };
}

type Claims = Readonly<Record<string, unknown>>;

async function read(issuer: string): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  const answer = await oauth.discoveryRequest(url, {
    algorithm: "oidc",
    ...requestOptions(issuer),
  });
  return await oauth.processDiscoveryResponse(url, answer);
}

/** As the provider takes it; in the header where it doesn't say (OpenID Connect Discovery §3). */
function authentication(server: oauth.AuthorizationServer, secret: string): oauth.ClientAuth {
  const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return methods.includes("client_secret_basic")
    ? oauth.ClientSecretBasic(secret)
    : oauth.ClientSecretPost(secret);
}
