import type { Secret } from "../base/secret.ts";
import type { Vendor } from "./registry.ts";

export interface CallerHeaders {
  header(name: string): string | undefined;
  /** Absent: no names are known, so that none go on by a prefix. */
  readonly headerNames?: () => readonly string[];
}

export interface CallKind {
  /** The caller's request goes on as it was written, not translated. */
  sameDialect: boolean;
  /** The vendor's key is the caller's or its account's, not the service's. */
  isOwnKey: boolean;
}

/**
 * Headers of a call to a vendor. Built from nothing: no header of the caller goes on unless the
 * vendor's row names it, so the service key can't leak upstream.
 */
export function vendorHeaders(
  vendor: Vendor,
  key: Secret,
  caller: CallerHeaders,
  kind: CallKind,
): Record<string, string> {
  const headers = forwardedHeaders(vendor, caller, kind, vendor.fixedHeaders);
  if (vendor.auth === "bearer") headers.authorization = `Bearer ${key.reveal()}`;
  else headers[vendor.auth] = key.reveal();
  return headers;
}

/** The caller's headers that go on to the vendor, as they are, behind those that are `fixed`. */
export function forwardedHeaders(
  vendor: Vendor,
  caller: CallerHeaders,
  kind: CallKind,
  fixed: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const headers: Record<string, string> = { ...fixed };
  for (const name of forwardedNames(vendor, caller, kind)) {
    const value = caller.header(name);
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

/** Names that go on; those of the caller's own account never with the service's key. */
function forwardedNames(
  { forwardHeaders, dialectHeaders, ownKeyHeaders }: Vendor,
  { headerNames = () => [] }: CallerHeaders,
  { sameDialect, isOwnKey }: CallKind,
): readonly string[] {
  if (!sameDialect) return forwardHeaders;
  const named = dialectHeaders.filter((one) => !one.endsWith("*"));
  const sent = headerNames().filter((name) => isListed(name, dialectHeaders));
  const open = [...forwardHeaders, ...named, ...sent]
    .filter((name) => !isListed(name, ownKeyHeaders));
  return isOwnKey
    ? [...open, ...headerNames().filter((name) => isListed(name, ownKeyHeaders))]
    : open;
}

/** A name ending in `*` stands for all that begin so. */
function isListed(name: string, list: readonly string[]): boolean {
  return list.some((one) => one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name);
}

/**
 * A vendor's answer headers that callers see. Everything else stays here: hop-by-hop headers, and
 * those that tell of the account behind the key (organisation, rate limits, cookies). The vendor's
 * id of the request, by which its support finds it, has a name that says whose it is.
 */
export function answerHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of passedOn) {
    const value = headers[name];
    if (value !== undefined) passed[name] = value;
  }
  const id = vendorRequestId(headers);
  if (id !== undefined) passed["x-vendor-request-id"] = id;
  return passed;
}

/** The vendor's own id of a request; undefined where it gave none that can stand in a header. */
export function vendorRequestId(headers: Readonly<Record<string, string>>): string | undefined {
  const id = headers["request-id"] ?? headers["x-request-id"];
  return id !== undefined && /^[\x21-\x7e]{1,200}$/.test(id) ? id : undefined;
}

const passedOn = [
  "content-type",
  "content-language",
  "openai-processing-ms",
  "openai-version",
  "openai-model",
  // By these a coding agent keeps to one server and counts its context.
  "x-reasoning-included",
  "x-codex-turn-state",
];
