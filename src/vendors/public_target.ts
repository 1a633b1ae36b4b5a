import { isAddress, isPublicAddress } from "./public_address.ts";

/** Where a fetch may go. */
export interface PublicTarget {
  /** A fragment has no effect: it is never sent. */
  readonly url: URL;
  /**
   * The operator allowed the host, so it may be private. Otherwise each resolved address is
   * checked.
   */
  readonly trusted: boolean;
}

/** Checks an address, relative to `base` for redirects; undefined: it must not be fetched. */
export type Permit = (address: string, base?: URL) => PublicTarget | undefined;

/**
 * Builds the check for addresses, by their text alone: https on its own port without credentials,
 * to a name or a public IP address; for hosts of `allowHosts` plain http and any port too. Entries
 * are names or addresses, `files.internal`, `10.0.0.7:9000`, `[::1]:8080`; one with a port allows
 * that port only. Throws RangeError for an entry that is neither. Names are not resolved here.
 */
export function createPermit(allowHosts: readonly string[]): Permit {
  const allowed = allowHosts.map((entry) => {
    const parsed = parseEntry(entry);
    if (parsed !== undefined) return parsed;
    throw new RangeError(`'${entry}' is not a host name or address, optionally with :port.`);
  });
  return (address, base) => {
    const url = address.length > maxAddressLength ? null : URL.parse(address, base);
    if (url === null || url.username !== "" || url.password !== "") return undefined;
    const defaultPort = defaultPorts[url.protocol];
    if (defaultPort === undefined) return undefined;
    const host = bareHost(url.hostname);
    const port = url.port || defaultPort;
    if (allowed.some((one) => one.host === host && (one.port ?? port) === port)) {
      return { url, trusted: true };
    }
    if (url.protocol !== "https:" || url.port !== "") return undefined;
    if (isAddress(host) && !isPublicAddress(host)) return undefined;
    return { url, trusted: false };
  };
}

/**
 * Longer than any signed URL of a storage bucket, shorter than servers' limit for a request line.
 */
const maxAddressLength = 8000;

const defaultPorts: Readonly<Record<string, string | undefined>> = {
  "http:": "80",
  "https:": "443",
};

/** Whether `createPermit` takes the entry. */
export function isHostEntry(entry: string): boolean {
  return parseEntry(entry) !== undefined;
}

function parseEntry(entry: string): { host: string; port: string | undefined } | undefined {
  const isBareIpv6 = !entry.includes("[") && entry.split(":").length > 2;
  const [, host, port] = isBareIpv6
    ? ["", `[${entry}]`, undefined]
    : /^([^/@?#\\]+?)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const url = host === undefined ? null : URL.parse(`http://${host}/`);
  if (url === null || url.host !== url.hostname || url.pathname !== "/" || Number(port) > 65535) {
    return undefined;
  }
  // A URL's host may have these, but `*.internal` or `$HOST` would never be asked for.
  if (/[^\w.:[\]-]/.test(url.hostname)) return undefined;
  return { host: bareHost(url.hostname), port: port && String(Number(port)) };
}

/** Without an IPv6 address's brackets and a name's final dot. */
function bareHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}
