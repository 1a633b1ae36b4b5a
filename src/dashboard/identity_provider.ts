import * as oauth from "oauth4webapi";
import type { Secret } from "../base/secret.ts";
import { maxEmailChars } from "../people/invitation.ts";
import { type Identity, type Role, roles as allRoles } from "../people/person.ts";
import type { FlowSecrets } from "./secrets.ts";

/** The operator's settings of sign-in, with either `issuer` or all three addresses. */
export interface SignInSettings {
  clientId: string;
  clientSecret: Secret;
  issuer: string | undefined;
  authorizeUrl: string | undefined;
  tokenUrl: string | undefined;
  userinfoUrl: string | undefined;
  /** Scopes to request, separated by spaces; undefined: the default for the kind of provider. */
  scopes: string | undefined;
  /** How the provider's groups map to roles; undefined: they don't. */
  roles: RoleSettings | undefined;
}

/** `OAUTH_ROLE_CLAIM` and `OAUTH_ROLE_MAP`. */
export interface RoleSettings {
  /** The claim that names a person's groups; `a.b` is the member `b` of the claim `a`. */
  claim: string;
  byGroup: ReadonlyMap<string, Role>;
}

/** A provider that identifies people who sign in. */
export interface IdentityProvider {
  /** Returns the address to send the browser to. Throws `ProviderError`. */
  authorizeUrl(flow: FlowSecrets): Promise<string>;
  /** Returns the person whom the provider sent back. Throws `ProviderError`. */
  identify(callback: URL, flow: FlowSecrets): Promise<Identity>;
}

/**
 * A failed sign-in. `declined`: the person or the provider refused. `unreachable`: the provider
 * didn't answer, or its answer can't be used.
 */
export class ProviderError extends Error {
  override name = "ProviderError";
  constructor(readonly kind: "declined" | "unreachable", message: string, cause: unknown) {
    super(message, { cause });
  }
}

/**
 * Returns options for a request to the provider: a deadline, a limit on its answer, and plain http
 * only on loopback.
 */
export function requestOptions(address: string) {
  const { protocol, hostname } = new URL(address);
  const plain = protocol === "http:" && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return {
    signal: AbortSignal.timeout(10_000),
    [oauth.customFetch]: fetchLimited,
    [oauth.allowInsecureRequests]: plain,
  };
}

/**
 * Checks the protocol of an endpoint that a provider names and the browser is sent to: https, or
 * plain http if the issuer may be. The library checks the endpoints that it calls itself. Throws.
 */
export function checkEndpoint(endpoint: string, issuer: string): void {
  oauth.checkProtocol(new URL(endpoint), !requestOptions(issuer)[oauth.allowInsecureRequests]);
}

/** The longest answer that is read, uncompressed. Configurations and lists of keys have a few KB. */
const maxAnswerBytes = 1024 * 1024;

/** Fetches an answer as a whole, up to the limit: the library reads and parses without one. */
async function fetchLimited(
  url: string,
  init: oauth.CustomFetchOptions<string, unknown>,
): Promise<Response> {
  const { body, status, headers } = await fetch(url, init as RequestInit);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > maxAnswerBytes) {
      throw new ProviderError("unreachable", "its answer is longer than 1 MiB", undefined);
    }
    chunks.push(chunk);
  }
  return new Response(body && new Blob(chunks), { status, headers });
}

/** Runs one exchange with the provider, and turns any error into a `ProviderError`. */
export async function exchange<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof ProviderError) throw thrown;
    if (thrown instanceof oauth.AuthorizationResponseError) {
      throw new ProviderError("declined", thrown.error, thrown);
    }
    const what = thrown instanceof oauth.ResponseBodyError ? thrown.error : describe(thrown);
    throw new ProviderError("unreachable", what, thrown);
  }
}

/** Returns the address that sends a person to the provider, with PKCE (RFC 7636, S256). */
export async function authorizeAddress(
  endpoint: string,
  params: Readonly<Record<string, string>>,
  flow: FlowSecrets,
): Promise<string> {
  const url = new URL(endpoint);
  const all = {
    ...params,
    response_type: "code",
    state: flow.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(flow.codeVerifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return url.href;
}

/** Whether the e-mail address is verified: only `true` counts; some providers send it as text. */
export function isVerified({ email_verified: says }: Readonly<Record<string, unknown>>): boolean {
  return says === true || says === "true";
}

/** A rough check of an e-mail address; admits only characters that the database can store. */
const isAddress = /^[^\s\p{Cc}\p{Cs}@]+@[^\s\p{Cc}\p{Cs}@]+$/u;

/**
 * Returns an e-mail address in lower case, or null if it can't be one. An address with a letter that
 * merely looks like another one's, such as the sign for kelvin, must not become that address.
 */
function readAddress(address = ""): string | null {
  const isOne = address.length <= maxEmailChars && isAddress.test(address) &&
    address === address.normalize("NFC");
  return isOne ? address.toLowerCase() : null;
}

/** The longest `sub` (OpenID Connect Core 1.0 §2), which is also what the database's index holds. */
const maxSubjectChars = 255;

/** Returns the person whom a provider's claims describe. Throws `ProviderError`. */
export function identityOf(
  issuer: string,
  subject: string,
  claims: Readonly<Record<string, unknown>>,
  roles?: RoleSettings,
): Identity {
  const text = (name: string) => {
    const value = claims[name];
    return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
  };
  if (subject.length > maxSubjectChars) {
    throw new ProviderError("unreachable", "its id of the person is too long", undefined);
  }
  const email = isVerified(claims) ? readAddress(text("email")) : null;
  const name = text("name") ?? text("preferred_username") ?? text("login") ?? email ?? subject;
  const role = roles && roleOf(claims, roles);
  return { issuer, subject, email, name: name.slice(0, 200), ...(role ? { role } : {}) };
}

/** Returns the highest role that any of the person's groups maps to. */
function roleOf(
  claims: Readonly<Record<string, unknown>>,
  { claim, byGroup }: RoleSettings,
): Role | undefined {
  const groups = [claimOf(claims, claim)].flat().filter((one) => typeof one === "string");
  const matched = new Set(groups.map((group) => byGroup.get(group)));
  return allRoles.find((role) => matched.has(role));
}

/** Returns a claim by its name or, if there is none, by its path. */
export function claimOf(claims: Readonly<Record<string, unknown>>, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim];
  let value: unknown = claims;
  for (const name of claim.split(".")) {
    const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, name);
    if (!isObject) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : "unknown failure";
}
