/** ID tokens and returns that are forged, stale or of somebody else: none of them signs anybody in. */
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { Secret } from "../base/secret.ts";
import { ProviderError } from "./identity_provider.ts";
import { createOpenIdProvider } from "./openid_provider.ts";
import { flowSecrets } from "./secrets.ts";

type Json = Record<string, unknown>;

const flow = flowSecrets("secret of a browser");
const redirectUri = "http://127.0.0.1/dashboard/callback";
const clientSecret = "secret of the gateway";

const base64url = (bytes: Uint8Array | string) => Buffer.from(bytes).toString("base64url");

const newKey = () =>
  crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);

const keys = { first: await newKey(), second: await newKey(), strangers: await newKey() };

async function jwkOf(key: CryptoKeyPair, kid: string): Promise<Json> {
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", key.publicKey);
  return { kty, crv, x, y, alg: "ES256", use: "sig", kid };
}

/** What a provider says, by turns from what an honest one says. */
interface Told {
  header?: Json;
  claims?: Json;
  signer?: CryptoKeyPair | "none" | { hmac: string };
  callback?: string;
  userinfo?: Json;
  discovery?: Json;
}

class TestProvider {
  told: Told = {};
  /** The keys it publishes, by their ids. */
  published: Record<string, CryptoKeyPair> = { first: keys.first };
  readonly requests: URLSearchParams[] = [];
  readonly #server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    return this.#answer(pathname, request);
  });

  get issuer(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(path: string, request: Request): Promise<Response> {
    const { issuer, told } = this;
    if (path === "/token") {
      this.requests.push(new URLSearchParams(await request.text()));
      const token = { access_token: "a", token_type: "Bearer", id_token: await this.#idToken() };
      return Response.json(token);
    }
    if (path === "/userinfo") return Response.json(told.userinfo);
    if (path === "/keys") {
      const published = Object.entries(this.published).map(([kid, key]) => jwkOf(key, kid));
      return Response.json({ keys: await Promise.all(published) });
    }
    return Response.json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      id_token_signing_alg_values_supported: ["ES256"],
      ...(told.userinfo ? { userinfo_endpoint: `${issuer}/userinfo` } : {}),
      ...told.discovery,
    });
  }

  async #idToken(): Promise<string> {
    const { header, claims, signer = keys.first } = this.told;
    const now = Math.floor(Date.now() / 1000);
    const honest = {
      ...{ iss: this.issuer, aud: "gateway", sub: "ada", nonce: flow.nonce },
      ...{ iat: now, exp: now + 600, email: "ada@example.com", email_verified: true },
    };
    const parts = [{ alg: "ES256", kid: "first", ...header }, { ...honest, ...claims }];
    const text = parts.map((part) => base64url(JSON.stringify(part))).join(".");
    if (signer === "none") return `${text}.`;
    if ("hmac" in signer) {
      return `${text}.${createHmac("sha256", signer.hmac).update(text).digest("base64url")}`;
    }
    const way = { name: "ECDSA", hash: "SHA-256" };
    const bytes = new TextEncoder().encode(text);
    const signed = await crypto.subtle.sign(way, signer.privateKey, bytes);
    return `${text}.${base64url(new Uint8Array(signed))}`;
  }

  identify(told: Told) {
    this.told = told;
    const client = { clientId: "gateway", clientSecret: new Secret(clientSecret) };
    const unset = { authorizeUrl: undefined, tokenUrl: undefined, userinfoUrl: undefined };
    const settings = { ...client, ...unset, issuer: this.issuer, scopes: undefined };
    const provider = createOpenIdProvider({ ...settings, roles: undefined }, redirectUri);
    const query = told.callback ?? `code=1&state=${flow.state}`;
    return provider.identify(new URL(`${redirectUri}?${query}`), flow);
  }
}

const ago = (seconds: number) => Math.floor(Date.now() / 1000) - seconds;
const withoutEmail = { email: undefined, email_verified: undefined };
const advertisesIssuer = { authorization_response_iss_parameter_supported: true };
const strangersJwk = await jwkOf(keys.strangers, "first");
const publicKeyText = JSON.stringify(await jwkOf(keys.first, "first"));

const refused: Readonly<Record<string, Told>> = {
  "without a signature": { header: { alg: "none" }, signer: "none" },
  "without a signature, under the name of one": { signer: "none" },
  "signed with the client's secret": {
    header: { alg: "HS256" },
    signer: { hmac: clientSecret },
    discovery: { id_token_signing_alg_values_supported: ["ES256", "HS256"] },
  },
  "signed with the public key as a secret": {
    header: { alg: "HS256" },
    signer: { hmac: publicKeyText },
    discovery: { id_token_signing_alg_values_supported: ["ES256", "HS256", "none"] },
  },
  "signed by a stranger": { signer: keys.strangers },
  "that brings its own key": { header: { jwk: strangersJwk }, signer: keys.strangers },
  "of a key that isn't published": { header: { kid: "second" }, signer: keys.second },
  "with a header that must be understood": { header: { crit: ["x"], x: 1 } },
  "of another client": { claims: { aud: "another" } },
  "of several clients, for another": { claims: { aud: ["another", "gateway"], azp: "another" } },
  "for nobody": { claims: { aud: undefined } },
  "of another issuer": { claims: { iss: "https://id.example.com" } },
  "of another sign-in": { claims: { nonce: flowSecrets("another browser's").nonce } },
  "of no sign-in": { claims: { nonce: undefined } },
  "that expired": { claims: { iat: ago(7200), exp: ago(3600) } },
  "that never expires": { claims: { exp: undefined } },
  "that isn't valid yet": { claims: { nbf: ago(-3600) } },
  "of nobody": { claims: { sub: undefined } },
  "beside another person's profile": {
    claims: withoutEmail,
    userinfo: { sub: "eve", email: "eve@example.com", email_verified: true },
  },
  "after a return with another state": { callback: "code=1&state=x" },
  "after a return without a state": { callback: "code=1" },
  "after a return with two states": { callback: `code=1&state=${flow.state}&state=x` },
  "after a return with two codes": { callback: `code=1&code=2&state=${flow.state}` },
  "after a return of another issuer": {
    callback: `code=1&state=${flow.state}&iss=https%3A%2F%2Fid.example.com`,
  },
  "after a return without the issuer that the provider promises": { discovery: advertisesIssuer },
  "after an error": { callback: `code=1&error=access_denied&state=${flow.state}` },
};

Deno.test("an honest ID token signs in, and its code is proved by the browser's secret", async () => {
  await using provider = new TestProvider();
  const { subject, email } = await provider.identify({});
  assert.deepEqual([subject, email], ["ada", "ada@example.com"]);
  const [sent] = provider.requests;
  assert.deepEqual([sent?.get("code_verifier"), sent?.get("code")], [flow.codeVerifier, "1"]);
  const userinfo = { sub: "ada", email: "ada@example.org", email_verified: true };
  const joined = await provider.identify({ claims: withoutEmail, userinfo });
  assert.equal(joined.email, "ada@example.org");
  const iss = encodeURIComponent(provider.issuer);
  const callback = `code=1&state=${flow.state}&iss=${iss}`;
  await provider.identify({ discovery: advertisesIssuer, callback });
});

for (const [name, told] of Object.entries(refused)) {
  Deno.test(`an ID token ${name} is refused`, async () => {
    await using provider = new TestProvider();
    await assert.rejects(() => provider.identify(told), ProviderError);
  });
}

Deno.test("the provider's new key counts at once, and an old one no longer", async () => {
  await using provider = new TestProvider();
  const second = { header: { kid: "second" }, signer: keys.second };
  await provider.identify({});
  await assert.rejects(() => provider.identify(second), ProviderError);
  provider.published = { first: keys.first, second: keys.second };
  await provider.identify(second);
  await provider.identify({});
  provider.published = { second: keys.second };
  await assert.rejects(() => provider.identify({}), ProviderError);
  await provider.identify(second);
});
