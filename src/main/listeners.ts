import { systemClock } from "../base/clock.ts";
import { systemSetTimer } from "../base/deadline.ts";
import type { SocketHandler } from "../base/frame_channel.ts";
import { vendorFamilies } from "../../contracts/calls/vendors.ts";
import { maxDatabaseFiles } from "../database/embedded/protocol.ts";
import { createErrorDialect } from "../http/error_dialect.ts";
import type { DirectCalls } from "../http/direct_calls.ts";
import type { FrontDoor } from "../http/front_door.ts";
import { httpsAddress } from "../http/middleware/https.ts";
import { requestIdIn } from "../http/middleware/request_context.ts";
import { isOwnHost, nameOf } from "../http/own_address.ts";
import { pathOfTarget, refuseUnread } from "../http/refuse_unread.ts";
import { securityHeaders } from "../http/respond.ts";
import { asksForResponses } from "../http/sockets/response_sockets.ts";
import type { ConnectionListeners } from "../listener/connection_events.ts";
import { connectionsByDescriptors } from "../listener/descriptors.ts";
import { limitsOf } from "../listener/limits.ts";
import {
  checkTls,
  type Handle,
  isNamed,
  type Listener,
  type ListenOptions,
  openListener,
} from "../listener/open.ts";
import { SharedParsersError } from "../listener/runtime_http.ts";
import { messageOf } from "../shared/fault.ts";
import { type Config, ConfigError, isLoopback } from "./config.ts";

/** The listeners of a server. */
export interface Listeners {
  address: string;
  /** Starts to answer requests, those that are already waiting included. */
  open(
    handle: Handle,
    observers: ConnectionListeners & {
      frontDoor: FrontDoor;
      directCalls: DirectCalls;
      sockets: SocketHandler;
    },
  ): void;
  drain(ms: number): Promise<void>;
  abort(): Promise<void>;
}

/** Ports by the names of their settings. */
export type Ports = Readonly<Record<string, number>>;

/** How long workers whose parent was killed may still hold a port. */
const leavingMs = 1_000;

/**
 * Finds the ports for workers to share; for 0 it chooses a free one. It opens each without sharing,
 * to be sure that the port is free: workers would unknowingly share it with another program of this
 * user that allows sharing. Throws as `openListeners` does.
 */
export async function findSharedPorts(config: Config): Promise<Ports> {
  const { port, tls } = config;
  const found: Record<string, number> = { PORT: await findPort(config, "PORT", port) };
  if (tls?.httpPort !== undefined) {
    found.HTTP_PORT = await findPort(config, "HTTP_PORT", tls.httpPort);
  }
  return found;
}

async function findPort(config: Config, variable: string, wanted: number): Promise<number> {
  const untilMs = systemClock.monotonicMs() + leavingMs;
  for (;;) {
    try {
      using listener = Deno.listen({ hostname: config.host, port: wanted });
      return listener.addr.port;
    } catch (thrown) {
      const isTaken = thrown instanceof Deno.errors.AddrInUse;
      if (!isTaken || systemClock.monotonicMs() > untilMs) {
        throw new ConfigError(listenFailure(config, variable, wanted, thrown));
      }
      await new Promise<void>((resolve) => systemSetTimer(50, resolve));
    }
  }
}

/** Opens `PORT`, and `HTTP_PORT` if set with TLS. `sharers` processes open the same ports. */
export async function openListeners(
  config: Config,
  onAlive: () => void,
  { sharers, maxByDescriptors: find = connectionsByDescriptors }: {
    sharers: number;
    maxByDescriptors?: typeof connectionsByDescriptors | undefined;
  },
): Promise<Listeners> {
  const opened = Promise.withResolvers<Handle>();
  const maxByDescriptors = find(
    () => Deno.openSync(config.dataDir),
    config.databaseUrl === undefined ? maxDatabaseFiles : () => 0,
  );
  const few = {
    sharers,
    ...(maxByDescriptors === undefined ? {} : { maxByDescriptors }),
  };
  const socketsOpened = Promise.withResolvers<SocketHandler>();
  const sockets: SocketHandler = {
    takes: asksForResponses,
    take: (offer) => void socketsOpened.promise.then((handler) => handler.take(offer)),
  };
  let guardOf: ListenOptions["guard"];
  const guard: ListenOptions["guard"] = (listener) => {
    let guarded: typeof listener | undefined;
    return (incoming, outgoing) => {
      guarded ??= guardOf?.(listener);
      (guarded ?? listener)(incoming, outgoing);
    };
  };
  const tls = readTls(config);
  const main = await listenOn(
    config,
    "PORT",
    {
      ...{ port: config.port, onAlive, guard, ...few, ...(tls ? { tls } : {}) },
      ...{ sockets, maxMessageBytes: config.maxBodyBytes },
    },
    async (request, ...more) => (await opened.promise)(request, ...more),
  );
  const listeners = [main];
  const plainPort = config.tls?.httpPort;
  if (plainPort !== undefined) {
    const upgradeHere: Handle = (request) => upgrade(request, config, main.port, tls?.cert);
    try {
      listeners.push(await listenOn(config, "HTTP_PORT", { port: plainPort, ...few }, upgradeHere));
    } catch (thrown) {
      await main.abort();
      throw thrown;
    }
  }
  return {
    address: `${config.tls ? "https" : "http"}://${shownHost(config.host)}:${main.port}`,
    open(handle, { frontDoor, directCalls, sockets: handler, ...observers }) {
      for (const listener of listeners) listener.setListeners(observers);
      guardOf = (listener) =>
        frontDoor.guard((incoming, outgoing) => {
          if (!directCalls(incoming, outgoing)) listener(incoming, outgoing);
        });
      opened.resolve(handle);
      socketsOpened.resolve(handler);
    },
    async drain(ms) {
      await Promise.all(listeners.map((listener) => listener.drain(ms)));
    },
    async abort() {
      await Promise.all(listeners.map((listener) => listener.abort()));
    },
  };
}

function readTls(config: Config): { cert: string; key: string } | undefined {
  if (!config.tls) return undefined;
  const { certFile, keyFile } = config.tls;
  const tls = { cert: readPem("TLS_CERT_FILE", certFile), key: readPem("TLS_KEY_FILE", keyFile) };
  try {
    checkTls(tls);
    return tls;
  } catch (thrown) {
    throw new ConfigError(
      `TLS_CERT_FILE=${certFile} and TLS_KEY_FILE=${keyFile} are not valid (${
        messageOf(thrown)
      }): expected a certificate and its private key in PEM.`,
    );
  }
}

function readPem(variable: string, path: string): string {
  const expected = "expected a file in PEM that this user can read";
  try {
    const text = Deno.readTextFileSync(path);
    if (text.includes("-----BEGIN ")) return text;
  } catch (thrown) {
    throw new ConfigError(`${variable}=${path} is not valid (${messageOf(thrown)}): ${expected}.`);
  }
  throw new ConfigError(`${variable}=${path} is not valid: ${expected}.`);
}

/** The error dialect until the operator's own vendors are loaded. */
const dialectOf = createErrorDialect(vendorFamilies);

async function listenOn(
  config: Config,
  variable: string,
  options: Pick<
    ListenOptions,
    | "port"
    | "tls"
    | "guard"
    | "maxByDescriptors"
    | "onAlive"
    | "sharers"
    | "sockets"
    | "maxMessageBytes"
  >,
  handle: Handle,
): Promise<Listener> {
  try {
    const { host } = config;
    const refuse: ListenOptions["refuse"] = (why, target) =>
      refuseUnread(why, target === undefined ? "service" : dialectOf(pathOfTarget(target)));
    const common = { host, refuse, limits: limitsOf(config), clock: systemClock };
    return await openListener({ ...common, ...options }, handle);
  } catch (thrown) {
    if (thrown instanceof SharedParsersError) throw thrown;
    throw new ConfigError(listenFailure(config, variable, options.port, thrown));
  }
}

/** A message that tells the operator how to fix a listener that can't be opened. */
function listenFailure(config: Config, variable: string, port: number, thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  const setting = `${variable}=${port}`;
  if (code === "EADDRINUSE") {
    return `${setting} is in use by another process: stop it, or set ${variable} to another port.`;
  }
  if (code === "EACCES") return `${setting} can't be opened by this user: use a port above 1023.`;
  return `HOST=${config.host} is not valid (${
    messageOf(thrown)
  }): expected an address of this machine, such as 127.0.0.1 or 0.0.0.0.`;
}

/**
 * The plain HTTP listener only redirects to HTTPS: to `BASE_URL`, else to the requested host if it is
 * ours (this machine, or a name in the certificate).
 */
function upgrade(
  request: Request,
  { baseUrl, host: boundTo }: Pick<Config, "baseUrl" | "host">,
  port: number,
  certificate = "",
): Response {
  const host = request.headers.get("host") ?? "";
  if (baseUrl === undefined && !isOwnHost(host, boundTo) && !isNamed(certificate, nameOf(host))) {
    const { status, headers, body } = refuseUnread("unknown_host");
    return new Response(body, { status, headers });
  }
  const header = (name: string) => request.headers.get(name) ?? undefined;
  return new Response(null, {
    status: 308,
    headers: {
      ...securityHeaders,
      "x-request-id": requestIdIn(header) ?? crypto.randomUUID(),
      location: httpsAddress(request.url, host, baseUrl, port),
    },
  });
}

function shownHost(host: string): string {
  if (host === "0.0.0.0" || host === "::" || isLoopback(host)) {
    return host === "::1" ? "[::1]" : "127.0.0.1";
  }
  return host.includes(":") ? `[${host}]` : host;
}
