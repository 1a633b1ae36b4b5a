import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

/** A real OpenID provider on loopback; anyone may sign in under any name. */
export interface RealProvider {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /**
   * Makes the service known to it, which it must be before the first sign-in. Each time it signs
   * with a new key from then on, and publishes only that one.
   */
  register(redirectUri: string): void;
  /** The groups that people are in from now on, by their name. */
  readonly groups: Map<string, readonly string[]>;
  close(): Promise<void>;
}

const clientId = "gateway";
const clientSecret = "client-secret-of-a-test-of-32-chars";

export async function startRealProvider(): Promise<RealProvider> {
  const groups = new Map<string, readonly string[]>();
  let handle: ReturnType<Provider["callback"]> | undefined;
  const server = createServer((request, response) => {
    if (handle) handle(request, response);
    else response.writeHead(503).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const issuer = `http://127.0.0.1:${port}`;
  return {
    issuer,
    clientId,
    clientSecret,
    groups,
    register(redirectUri) {
      const provider = new Provider(issuer, {
        clients: [{
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [redirectUri],
        }],
        cookies: { keys: ["key of a test"] },
        jwks: { keys: [newKey()] },
        pkce: { required: () => true },
        claims: {
          openid: ["sub"],
          email: ["email", "email_verified"],
          profile: ["name", "groups"],
        },
        findAccount: (_context: unknown, id: string) => ({
          accountId: id,
          claims: () =>
            Promise.resolve({
              sub: id,
              name: id,
              groups: groups.get(id) ?? [],
              email: `${id}@example.com`,
              email_verified: true,
            }),
        }),
      });
      handle = provider.callback();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function newKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), use: "sig" };
}
