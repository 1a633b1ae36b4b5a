import { createClient } from "./generated/client/index.ts";
import type { Client } from "./generated/client/index.ts";
import { gatewayErrorOf } from "./errors.ts";
import { type Fetch, type RetryOptions, withRetries } from "./retry.ts";

/** What every operation takes as `client`. */
export type Gateway = Client;

export interface GatewayOptions {
  /** Address of the service, such as `https://gateway.example.com`. */
  baseUrl: string;
  /** A service key, `dmt_…`, or what fetches one, asked before every call. */
  apiKey: string | (() => string | Promise<string>);
  /** A vendor key of your own: calls then use it, and cost nothing here. */
  vendorKey?: string | undefined;
  /** Headers of every call, such as `X-Session-ID`. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** How often and when failed calls are made again. */
  retry?: RetryOptions | undefined;
  /** In place of the global `fetch`. */
  fetch?: Fetch | undefined;
}

/**
 * Connects the operations with a service. They throw `GatewayError` where they fail, after they
 * were tried again where that can help; a repeat carries the same `X-Request-ID`, so that it is
 * never charged twice.
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
    // The other schemes carry the same key in other headers.
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

/** Else each call would fail as if there were no server. A page may give a path of its own. */
function assertAddress(baseUrl: unknown): void {
  const { location } = globalThis as { location?: { href?: string } };
  const isAddress = typeof baseUrl === "string" && URL.canParse(baseUrl, location?.href) &&
    /^https?:$/.test(new URL(baseUrl, location?.href).protocol);
  if (isAddress) return;
  throw new TypeError(
    `baseUrl: expected a URL such as https://gateway.example.com, got ${shown(baseUrl)}`,
  );
}

/** Mostly a variable that isn't set: each call would be refused. */
function assertKey(apiKey: unknown): void {
  if (typeof apiKey === "function") return;
  if (typeof apiKey === "string" && apiKey !== "") return assertText("apiKey", apiKey);
  const got = typeof apiKey === "string" ? "an empty string" : typeof apiKey;
  throw new TypeError(
    `apiKey: expected a service key (dmt_…) or a function that fetches one, got ${got}`,
  );
}

/** What was copied with its placeholder's dots would fail as a call; a key of a file ends its line. */
function assertText(name: string, key: string): void {
  const [unfit] = /[^\t\x20-\x7e\x80-\xff]/u.exec(key.trim()) ?? [];
  if (unfit === undefined) return;
  throw new TypeError(`${name}: expected a key, got a text with ${JSON.stringify(unfit)} in it`);
}

function shown(value: unknown): string {
  return typeof value === "string" ? `'${value}'` : typeof value;
}

/**
 * Operations hand on all of their options as those of the request, `client` too, which is an option
 * of Deno's own requests.
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
