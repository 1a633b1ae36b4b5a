import { createClient } from "./generated/client/index.ts";
import type { Client } from "./generated/client/index.ts";
import { gatewayErrorOf } from "./errors.ts";
import { type Fetch, type RetryOptions, withRetries } from "./retry.ts";

/** The `client` option of every operation. */
export type Gateway = Client;

export interface GatewayOptions {
  /** Address of the service, such as `https://gateway.example.com`. */
  baseUrl: string;
  /** A service key, `dmt_…`, or a function that returns one, called before every call. */
  apiKey: string | (() => string | Promise<string>);
  /** A vendor key of your own: calls then use it, and are not charged by the service. */
  vendorKey?: string | undefined;
  /** Headers of every call, such as `X-Session-ID`. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** How often and when failed calls are retried. */
  retry?: RetryOptions | undefined;
  /** Used instead of the global `fetch`. */
  fetch?: Fetch | undefined;
}

/**
 * Creates the client that connects operations with a service. Operations throw `GatewayError` if
 * they fail, after retries where those can help. A retry has the same `X-Request-ID`, so that a
 * call is never charged twice.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { apiKey, vendorKey } = options;
  assertAddress(options.baseUrl);
  assertKey(apiKey);
  if (vendorKey !== undefined) assertText("vendorKey", vendorKey);
  const send = withRetries(options.fetch ?? ((request) => fetch(request)), options.retry);
  const gateway = createClient({
    baseUrl: options.baseUrl,
    throwOnError: true,
    fetch: (input, init) => send(new Request(input, init)),
    // The other schemes would send the same key in other headers.
    auth: async ({ scheme }) => {
      if (scheme !== "bearer") return undefined;
      const key = (typeof apiKey === "string" ? apiKey : await apiKey()).trim();
      return vendorKey === undefined ? key : `${key};${vendorKey.trim()}`;
    },
    ...(options.headers === undefined ? {} : { headers: { ...options.headers } }),
  });
  gateway.interceptors.error.use((thrown, response, request, { throwOnError }) =>
    throwOnError === false && response ? thrown : gatewayErrorOf(thrown, response, request)
  );
  return withoutItself(gateway);
}

/**
 * Throws a TypeError for an invalid address, with which each call would fail as if there were no
 * server. In a browser it may be a path.
 */
function assertAddress(baseUrl: unknown): void {
  const { location } = globalThis as { location?: { href?: string } };
  const isAddress = typeof baseUrl === "string" && URL.canParse(baseUrl, location?.href) &&
    /^https?:$/.test(new URL(baseUrl, location?.href).protocol);
  if (isAddress) return;
  throw new TypeError(
    `baseUrl: expected a URL such as https://gateway.example.com, got ${shown(baseUrl)}`,
  );
}

/** Throws a TypeError without a key (often a variable isn't set): each call would be refused. */
function assertKey(apiKey: unknown): void {
  if (typeof apiKey === "function") return;
  if (typeof apiKey === "string" && apiKey !== "") return assertText("apiKey", apiKey);
  const got = typeof apiKey === "string" ? "an empty string" : typeof apiKey;
  throw new TypeError(
    `apiKey: expected a service key (dmt_…) or a function that fetches one, got ${got}`,
  );
}

/**
 * Throws a TypeError for characters that no header can have, such as the `…` of a placeholder. A
 * line's end is allowed: keys that are read from files have one.
 */
function assertText(name: string, key: string): void {
  const [unfit] = /[^\t\x20-\x7e\x80-\xff]/u.exec(key.trim()) ?? [];
  if (unfit === undefined) return;
  throw new TypeError(`${name}: expected a key, got a text with ${JSON.stringify(unfit)} in it`);
}

function shown(value: unknown): string {
  return typeof value === "string" ? `'${value}'` : typeof value;
}

/**
 * Removes `client` from the options of requests. Operations pass on all their options, and Deno's
 * own requests have an option of that name.
 */
function withoutItself(gateway: Gateway): Gateway {
  const bare = <Options extends object>(options: Options): Options => ({
    ...options,
    client: undefined,
  });
  return {
    ...gateway,
    request: (options) => gateway.request(bare(options)),
    get: (options) => gateway.get(bare(options)),
    post: (options) => gateway.post(bare(options)),
    patch: (options) => gateway.patch(bare(options)),
    delete: (options) => gateway.delete(bare(options)),
  };
}
