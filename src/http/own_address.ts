import { withoutEnd } from "../base/trim.ts";

/** What determines the service's own URL: the configuration, else the caller's `Host`. */
export interface AddressDeps {
  /** `BASE_URL`. */
  readonly baseUrl: string | undefined;
  /** `HOST`, the address that the listener is bound to. */
  readonly host: string;
  /** The listener uses TLS. */
  readonly secure: boolean;
}

/**
 * Returns the service's URL for responses to this caller only. Without a trailing slash; empty if
 * unknown, so that URLs become relative.
 */
export function ownAddress(
  deps: AddressDeps,
  header: (name: string) => string | undefined,
): string {
  if (deps.baseUrl !== undefined) return withoutEnd(deps.baseUrl, "/");
  const host = header("host") ?? "";
  if (!/^[\w.-]+(:\d+)?$|^\[[\da-fA-F:.]+\](:\d+)?$/.test(host)) return "";
  return `${deps.secure ? "https" : "http"}://${host}`;
}

/**
 * Returns the service's URL for responses that a cache may serve to others. A `Host` is trusted
 * there only if it names this machine or the listener's address; otherwise the result is empty, so
 * that URLs become relative.
 */
export function publicAddress(
  deps: AddressDeps,
  header: (name: string) => string | undefined,
): string {
  const isKnown = deps.baseUrl !== undefined || isOwnHost(header("host") ?? "", deps.host);
  return isKnown ? ownAddress(deps, header) : "";
}

/** Whether a `Host`, with or without a port, names this machine or the listener's address. */
export function isOwnHost(host: string, boundTo: string): boolean {
  const name = nameOf(host);
  return loopback.test(name) || name === boundTo.toLowerCase();
}

/** Returns the name or address in a `Host`, without port and brackets, in lower case. */
export function nameOf(host: string): string {
  return host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1").toLowerCase();
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/;
