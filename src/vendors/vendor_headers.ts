import type { Secret } from "../base/secret.ts";
import type { Vendor } from "./registry.ts";

export interface CallerHeaders {
  header(name: string): string | undefined;
  /** Absent: the names are unknown, and no header is forwarded by a prefix. */
  readonly headerNames?: () => readonly string[];
}

export interface CallKind {
  /** The caller's request is forwarded as it was written, not translated. */
  sameDialect: boolean;
  /** The vendor's key is the caller's or its account's, not the service's. */
  isOwnKey: boolean;
}

/**
 * Builds the headers of a call to a vendor from nothing: no header of the caller is forwarded
 * unless the vendor's row names it, so the service key can't leak upstream.
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

/** Returns the `fixed` headers and the caller's headers that are forwarded unchanged, which win. */
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

/**
 * Names of the headers to forward; those that name the caller's account are never sent with the
 * service's key.
 */
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

/** Whether a list has a name; an entry that ends in `*` stands for all names with that prefix. */
function isListed(name: string, list: readonly string[]): boolean {
  return list.some((one) => one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name);
}

/**
 * Picks the vendor's answer headers that callers see. Everything else stays here: hop-by-hop
 * headers, and those about the account behind the key (organisation, rate limits, cookies). The
 * vendor's request id, which its support asks for, gets a name that says whose it is.
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

/**
 * An answer's headers without those that repeat the vendor's key, which proxies in front of vendors
 * may do. Keys of a few letters would match parts of words.
 */
export function withoutKey(
  headers: Readonly<Record<string, string>>,
  key: Secret,
): Readonly<Record<string, string>> {
  const text = key.reveal();
  if (text.length < 6) return headers;
  const repeat = Object.keys(headers).filter((name) => headers[name]!.includes(text));
  if (repeat.length === 0) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !repeat.includes(name)));
}

/** The vendor's own id of a request; undefined where it gave none that fits into a header. */
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
  // A coding agent needs these to stay on one server and to count its context.
  "x-reasoning-included",
  "x-codex-turn-state",
];
