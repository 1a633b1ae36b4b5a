/** Answers of identity providers that are wrong, too large, or never end. */
import assert from "@std/assert";
import { Secret } from "../base/secret.ts";
import { checkEndpoint, identityOf, ProviderError } from "./identity_provider.ts";
import { createOpenIdProvider } from "./openid_provider.ts";
import { createPlainProvider } from "./plain_provider.ts";
import { flowSecrets } from "./secrets.ts";

const flow = flowSecrets("secret of a browser");
const redirectUri = "http://127.0.0.1/dashboard/callback";
const json = { "content-type": "application/json" };
const mib = 1024 * 1024;

const client = {
  clientId: "gateway",
  clientSecret: new Secret("secret of the gateway"),
  issuer: undefined,
  authorizeUrl: undefined,
  tokenUrl: undefined,
  userinfoUrl: undefined,
  scopes: undefined,
  roles: undefined,
};

/** Runs with a provider that answers each path by `answers`. */
async function withProvider(
  answers: Readonly<Record<string, (issuer: string) => BodyInit>>,
  run: (issuer: string) => Promise<void>,
  headers: Record<string, string> = json,
): Promise<void> {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) => {
    const { pathname, origin } = new URL(url);
    return new Response(answers[pathname]?.(origin), { headers });
  });
  await run(`http://127.0.0.1:${server.addr.port}`);
  await server.shutdown();
}

const refusal = (work: () => Promise<unknown>) =>
  assert.rejects(
    work,
    new ProviderError("unreachable", "its answer is longer than 1 MiB", undefined),
  );

Deno.test("an answer of more than 1 MiB is refused, at each of the provider's addresses", async () => {
  const discovery = (issuer: string, endpoint = "token") =>
    JSON.stringify({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/${endpoint}`,
    });
  const callback = new URL(`${redirectUri}?code=1&state=${flow.state}`);
  const answers = {
    "/.well-known/openid-configuration": (issuer: string) => discovery(issuer),
    "/long/.well-known/openid-configuration": (issuer: string) =>
      discovery(`${issuer}/long`) + " ".repeat(mib),
    "/token": () => JSON.stringify({ access_token: "a", token_type: "bearer" }) + " ".repeat(mib),
    "/short": () => JSON.stringify({ access_token: "a", token_type: "bearer" }),
    "/userinfo": () => JSON.stringify({ id: 7 }) + " ".repeat(mib),
  };
  await withProvider(answers, async (issuer) => {
    const openId = (issuer: string) => createOpenIdProvider({ ...client, issuer }, redirectUri);
    assert.match(await openId(issuer).authorizeUrl(flow), /\/authorize\?/);
    await refusal(() => openId(`${issuer}/long`).authorizeUrl(flow));
    await refusal(() => openId(issuer).identify(callback, flow));
    const plain = createPlainProvider({
      ...client,
      authorizeUrl: `${issuer}/authorize`,
      tokenUrl: `${issuer}/short`,
      userinfoUrl: `${issuer}/userinfo`,
    }, redirectUri);
    await refusal(() => plain.identify(callback, flow));
  });
});

Deno.test("people are sent to no authorization endpoint without TLS, unless the issuer has none", async () => {
  let endpoint = "";
  const answers = {
    "/.well-known/openid-configuration": (issuer: string) =>
      JSON.stringify({ issuer, authorization_endpoint: endpoint }),
  };
  await withProvider(answers, async (issuer) => {
    const provider = createOpenIdProvider({ ...client, issuer }, redirectUri);
    for (endpoint of ["javascript:alert(1)//", "data:text/html,x", "ftp://id.example.com/"]) {
      await assert.rejects(() => provider.authorizeUrl(flow), ProviderError, endpoint);
    }
    endpoint = "https://id.example.com/authorize";
    assert.match(await provider.authorizeUrl(flow), /^https:\/\/id\.example\.com\/authorize\?/);
  });
  const https = "https://id.example.com";
  checkEndpoint(`${https}/authorize`, https);
  for (endpoint of ["http://id.example.com/authorize", "http://127.0.0.1/authorize"]) {
    assert.throws(() => checkEndpoint(endpoint, https), /only requests to HTTPS are allowed/);
  }
});

Deno.test("an answer that is small only while it is compressed is refused", async () => {
  const blanks = new Blob([" ".repeat(20 * mib)]).stream();
  const bomb = await new Response(blanks.pipeThrough(new CompressionStream("gzip"))).bytes();
  await withProvider({ "/.well-known/openid-configuration": () => bomb }, async (issuer) => {
    await refusal(() =>
      createOpenIdProvider({ ...client, issuer }, redirectUri).authorizeUrl(flow)
    );
  }, { ...json, "content-encoding": "gzip" });
});

Deno.test("a person's id has at most 255 characters, an e-mail address 254", () => {
  const identify = (subject: string, email: string) =>
    identityOf("https://issuer", subject, { email, email_verified: true });
  const email = (length: number) => "@example.com".padStart(length, "e");
  assert.equal(identify("s".repeat(255), email(254)).email, email(254));
  assert.equal(identify("s", email(255)).email, null);
  assert.throws(() => identify("s".repeat(256), email(20)), /its id of the person is too long/);
});

Deno.test("an address with a letter that only looks like one of another address is no address", () => {
  const emailOf = (email: string) =>
    identityOf("https://issuer", "s", { email, email_verified: true }).email;
  assert.equal(emailOf("KATE@Example.com"), "kate@example.com");
  assert.equal(emailOf("ÜNAL@example.com"), "ünal@example.com");
  assert.equal(emailOf("\u212aate@example.com"), null);
});
