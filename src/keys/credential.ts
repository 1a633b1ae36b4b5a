import type { Clock } from "../base/clock.ts";
import { crc32, sha256Hex } from "../base/hash.ts";
import { base62, base62Number, uuidv7 } from "../base/ids.ts";
import { Secret } from "../base/secret.ts";

/** A service key just made. `value` is shown once and never stored; `hash` is what is stored. */
export interface NewKey {
  id: string;
  value: Secret;
  /** First 12 characters of the value, for people to recognise the key by. */
  prefix: string;
  hash: string;
}

/**
 * A new service key: `dmt_`, 32 random bytes in base62 (43 characters) and the CRC-32 of those
 * 43 characters in base62 (6 characters), so that leaked keys can be scanned for.
 */
export function mintKey(clock: Pick<Clock, "now">): NewKey {
  const body = base62(crypto.getRandomValues(new Uint8Array(32)), bodyLength);
  const value = keyPrefix + body + checksum(body);
  return {
    id: uuidv7(clock),
    value: new Secret(value),
    prefix: value.slice(0, shownLength),
    hash: hashKey(value),
  };
}

/** Whether the value has a service key's form and checksum; not whether the key exists. */
export function looksLikeKey(value: string): boolean {
  const body = /^dmt_([0-9A-Za-z]{43})[0-9A-Za-z]{6}$/.exec(value)?.[1];
  return body !== undefined && value.endsWith(checksum(body));
}

/** SHA-256 in hex. Unsalted on purpose: the value has 256 random bits and is looked up by it. */
export function hashKey(value: string): string {
  return sha256Hex(value);
}

/** The headers that may carry a key, as they came; absent ones undefined or null. */
export interface CredentialHeaders {
  authorization?: string | null | undefined;
  xApiKey?: string | null | undefined;
  xGoogApiKey?: string | null | undefined;
}

/**
 * `missing`: no header has a key. `malformed`: a header has something that can't be a service key.
 * `vendor_key`: what follows the semicolon can't be sent to a vendor, because of `problem`.
 * `vendorKey` is the second half of the dual-key form.
 */
export type Credential =
  | { kind: "missing" }
  | { kind: "malformed" }
  | { kind: "vendor_key"; problem: string }
  | { kind: "key"; value: string; vendorKey?: Secret };

/**
 * Reads the credential of a request (docs/keys-and-credit.md). Each header may hold `<key>` or
 * `<key>;<vendor key>`. Client libraries send several headers at once, so the first that holds a
 * well-formed service key counts, in the order Authorization (scheme Bearer), X-API-Key,
 * x-goog-api-key (only where `googleAllowed`); the others are ignored. Doesn't check whether the
 * key exists.
 */
export function parseCredential(
  headers: CredentialHeaders,
  { googleAllowed }: { googleAllowed: boolean },
): Credential {
  const fields = [
    bearerValue(headers.authorization ?? ""),
    headers.xApiKey?.trim() ?? "",
    googleAllowed ? headers.xGoogApiKey?.trim() ?? "" : "",
  ].filter((value) => value !== "");
  for (const value of fields) {
    const semicolon = value.indexOf(";");
    const key = semicolon === -1 ? value : value.slice(0, semicolon).trimEnd();
    if (!looksLikeKey(key)) continue;
    if (semicolon === -1) return { kind: "key", value: key };
    // An empty vendor key is an unset variable of the caller; going on without one would charge
    // the credit that the dual form was meant to spare.
    const vendorKey = value.slice(semicolon + 1).trim();
    const problem = vendorKeyProblem(vendorKey);
    if (problem !== undefined) return { kind: "vendor_key", problem };
    return { kind: "key", value: key, vendorKey: new Secret(vendorKey) };
  }
  return fields.length === 0 ? { kind: "missing" } : { kind: "malformed" };
}

const keyPrefix = "dmt_";
const bodyLength = 43;
const checksumLength = 6;
const shownLength = 12;
/** Longest vendor key that is sent on; some vendors' keys are tokens of 2–3 KB. */
const maxVendorKeyLength = 4096;

function checksum(body: string): string {
  return base62Number(crc32(body), checksumLength);
}

/** Returns what follows the scheme Bearer (RFC 9110 §11.1: any case); "" for another scheme. */
function bearerValue(header: string): string {
  return /^\s*bearer\s+(\S.*)$/i.exec(header)?.[1]?.trim() ?? "";
}

/** Returns why a text can't be a vendor key, without the text; undefined if it can. */
export function vendorKeyProblem(value: string): string | undefined {
  if (value === "") return "the vendor key is missing";
  if (looksLikeKey(value)) {
    return "this is a key of this service; expected one that the vendor issued";
  }
  // Nothing that could end a header or be read as two values.
  const isSendable = value.length <= maxVendorKeyLength && /^[\x21-\x7e]+$/.test(value);
  return isSendable
    ? undefined
    : `a vendor key has at most ${maxVendorKeyLength} printable ASCII characters, without spaces or line breaks`;
}
