import { withoutEnd } from "../base/trim.ts";

/** Where this service is reached: as configured, else as the caller reached it. */
export interface AddressDeps {
  /** `BASE_URL`. */
  readonly baseUrl: string | undefined;
  /** `HOST`, that the listener is bound to. */
  readonly host: string;
  /** The listener speaks TLS. */
  readonly secure: boolean;
}

/**
 * For what is handed to the caller who asked and to nobody else. Without a slash at the end; empty
 * where nobody knows, so that addresses are relative.
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
 * For what others may be shown too, as by a cache: a `Host` is believed there only where it is this
 * machine, or the address that the listener has. Empty otherwise, so that addresses are relative.
 */
export function publicAddress(
  deps: AddressDeps,
  header: (name: string) => string | undefined,
): string {
  const isKnown = deps.baseUrl !== undefined || isOwnHost(header("host") ?? "", deps.host);
  return isKnown ? ownAddress(deps, header) : "";
}

/** Whether a `Host`, with a port or without, names this machine or what the listener is bound to. */
export function isOwnHost(host: string, boundTo: string): boolean {
  const name = nameOf(host);
  return loopback.test(name) || name === boundTo.toLowerCase();
}

/** The name or address in a `Host`, without port and brackets, in small letters. */
export function nameOf(host: string): string {
  return host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1").toLowerCase();
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/;
