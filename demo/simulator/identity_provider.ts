/**
 * A simulated OpenID provider on loopback with one person, who agrees to everything: discovery,
 * authorization code with PKCE, ID tokens signed with ES256, user info. It checks what a real one
 * checks: the client's secret, the redirect address, that a code is used once and by its owner.
 */
export interface IdentityProvider {
  issuer: string;
  /** Whether it has its usual port: only then a person stays the same over restarts. */
  isUsual: boolean;
  clientId: string;
  clientSecret: string;
  /** Sets the person who signs in from now on. */
  become(name: string, email: string, claims?: Claims, tokenClaims?: Claims): void;
  /** From now on, ID tokens are signed with a key that is not published. */
  forge(): void;
  close(): Promise<void>;
}

type Claims = Readonly<Record<string, unknown>>;

const ada = { name: "Ada Lovelace", email: "ada@example.com" };

/** Preferred port: it keeps the issuer, and so the person, the same over restarts. */
export const usualPort = 8786;
const clientId = "llm-gateway-demo";
const clientSecret = "simulated-client-secret";

interface Person {
  name: string;
  email: string;
  /** Further claims of the user info, such as groups. */
  claims?: Claims | undefined;
  /** Further claims of the ID token. */
  tokenClaims?: Claims | undefined;
}

interface Grant {
  person: Person;
  redirectUri: string;
  challenge: string;
  nonce: string | null;
  /** Whether OpenID was asked for: only then an ID token is issued. */
  isOpenId: boolean;
}

export function startIdentityProvider(hostname = "127.0.0.1"): IdentityProvider {
  const state: State = {
    person: ada,
    grants: new Map(),
    tokens: new Map(),
    issuer: "",
    key: undefined,
    forges: false,
  };
  const listen = (port: number) =>
    Deno.serve({ hostname, port, onListen() {} }, (request) => answer(request, state));
  let server;
  try {
    server = listen(usualPort);
  } catch {
    server = listen(0);
  }
  state.issuer = `http://${hostname}:${server.addr.port}`;
  return {
    issuer: state.issuer,
    isUsual: server.addr.port === usualPort,
    clientId,
    clientSecret,
    become: (name, email, claims, tokenClaims) =>
      void (state.person = { name, email, claims, tokenClaims }),
    forge: () => void (state.forges = true),
    close: () => server.shutdown(),
  };
}

interface State {
  person: Person;
  issuer: string;
  /** Grants by code; each can be used once. */
  grants: Map<string, Grant>;
  tokens: Map<string, Person>;
  key: Promise<CryptoKeyPair> | undefined;
  forges: boolean;
}

async function answer(request: Request, state: State): Promise<Response> {
  const url = new URL(request.url);
  switch (`${request.method} ${url.pathname}`) {
    case "GET /.well-known/openid-configuration":
      return Response.json(discovery(state.issuer));
    case "GET /authorize":
      return authorize(url, state);
    case "POST /token":
      return await token(request, state);
    case "GET /userinfo":
      return userinfo(request, state);
    case "GET /jwks":
      return Response.json({ keys: [await publicKey(state)] });
    default:
      return new Response("not found", { status: 404 });
  }
}

function discovery(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    scopes_supported: ["openid", "email", "profile"],
  };
}

function authorize({ searchParams }: URL, { grants, person }: State): Response {
  const ask = (name: string) => searchParams.get(name);
  const redirectUri = ask("redirect_uri") ?? "";
  const isOurs = ask("client_id") === clientId && URL.canParse(redirectUri) &&
    new URL(redirectUri).pathname === "/dashboard/callback";
  if (!isOurs) return new Response("unknown client or redirect address", { status: 400 });
  const back = new URL(redirectUri);
  back.searchParams.set("state", ask("state") ?? "");
  const challenge = ask("code_challenge") ?? "";
  if (ask("response_type") !== "code" || ask("code_challenge_method") !== "S256" || !challenge) {
    back.searchParams.set("error", "invalid_request");
  } else {
    const code = crypto.randomUUID();
    const isOpenId = (ask("scope") ?? "").split(" ").includes("openid");
    grants.set(code, { person, redirectUri, challenge, nonce: ask("nonce"), isOpenId });
    back.searchParams.set("code", code);
  }
  return new Response(null, { status: 302, headers: { location: back.href } });
}

async function token(request: Request, state: State): Promise<Response> {
  const form = new URLSearchParams(await request.text());
  const isPosted = form.get("client_id") === clientId && form.get("client_secret") === clientSecret;
  if (!isPosted && !isClient(request.headers.get("authorization") ?? "")) {
    return Response.json({ error: "invalid_client" }, { status: 401 });
  }
  const code = form.get("code") ?? "";
  const grant = state.grants.get(code);
  state.grants.delete(code);
  const isOwner = grant?.redirectUri === form.get("redirect_uri") &&
    grant?.challenge === await challengeOf(form.get("code_verifier") ?? "");
  if (!grant || !isOwner || form.get("grant_type") !== "authorization_code") {
    return Response.json({ error: "invalid_grant" }, { status: 400 });
  }
  const accessToken = crypto.randomUUID();
  state.tokens.set(accessToken, grant.person);
  return Response.json({
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: 600,
    ...(grant.isOpenId ? { id_token: await idToken(state, grant) } : {}),
  });
}

/** Whether a header has the client's credentials, each form-encoded (RFC 6749 §2.3.1). */
function isClient(authorization: string): boolean {
  const [, encoded = ""] = /^Basic ([\w+/=]+)$/.exec(authorization) ?? [];
  const parts = atob(encoded).split(":").map((part) =>
    decodeURIComponent(part.replaceAll("+", " "))
  );
  return parts.length === 2 && parts[0] === clientId && parts[1] === clientSecret;
}

function userinfo(request: Request, { tokens }: State): Response {
  const given = request.headers.get("authorization")?.replace(/^Bearer /, "") ?? "";
  const person = tokens.get(given);
  if (!person) return new Response(null, { status: 401 });
  const { name, email, claims } = person;
  return Response.json({ sub: email, name, email, email_verified: true, ...claims });
}

async function idToken(state: State, { person, nonce }: Grant): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    ...person.tokenClaims,
    iss: state.issuer,
    aud: clientId,
    sub: person.email,
    iat: now,
    exp: now + 600,
    ...(nonce === null ? {} : { nonce }),
  };
  const parts = [{ alg: "ES256", typ: "JWT", kid: "1" }, claims];
  const text = parts.map((part) => base64url(new TextEncoder().encode(JSON.stringify(part))))
    .join(".");
  const { privateKey } = await (state.forges ? newKey() : keyOf(state));
  const signed = await crypto.subtle.sign(
    { name: "ECDSA", hash: "SHA-256" },
    privateKey,
    new TextEncoder().encode(text),
  );
  return `${text}.${base64url(new Uint8Array(signed))}`;
}

async function publicKey(state: State) {
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", (await keyOf(state)).publicKey);
  return { kty, crv, x, y, alg: "ES256", use: "sig", kid: "1" };
}

/** Creates the key when it is first needed. */
function keyOf(state: State): Promise<CryptoKeyPair> {
  return state.key ??= newKey();
}

function newKey(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ]);
}

async function challengeOf(verifier: string): Promise<string> {
  const bytes = new TextEncoder().encode(verifier);
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_")
    .replace(/=+$/, "");
}
