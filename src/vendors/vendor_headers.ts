import type { Secret } from "../base/secret.ts";
import type { Vendor } from "./registry.ts";

/**
 * Headers of a call to a vendor. Built from nothing: no header of the caller goes on unless the
 * vendor's row names it, so the service key can't leak upstream. `sameDialect`: the caller's
 * request goes on as it was written, not translated.
 */
export function vendorHeaders(
  vendor: Vendor,
  key: Secret,
  fromCaller: (name: string) => string | undefined,
  sameDialect: boolean,
): Record<string, string> {
  const headers: Record<string, string> = { ...vendor.fixedHeaders };
  const forwarded = [...vendor.forwardHeaders, ...(sameDialect ? vendor.dialectHeaders : [])];
  for (const name of forwarded) {
    const value = fromCaller(name);
    if (value !== undefined) headers[name] = value;
  }
  if (vendor.auth === "bearer") headers.authorization = `Bearer ${key.reveal()}`;
  else headers[vendor.auth] = key.reveal();
  return headers;
}

/**
 * A vendor's answer headers that callers see. Everything else stays here: hop-by-hop headers, and
 * those that tell of the account behind the key (organisation, rate limits, cookies, request ids).
 */
export function answerHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of passedOn) {
    const value = headers[name];
    if (value !== undefined) passed[name] = value;
  }
  return passed;
}

const passedOn = ["content-type", "content-language", "openai-processing-ms", "openai-version"];
