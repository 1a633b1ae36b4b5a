import { createApp, errorDialectOf } from "./app.ts";
import { createLog, type Log, type LogLines } from "../base/log.ts";
import { adminAndExportDepsOf } from "../admin/deps.ts";
import { serveControl } from "../admin/control.ts";
import { type Config, ConfigError, isLoopback } from "./config.ts";
import { createFrontDoor, type FrontDoor } from "../http/front_door.ts";
import { httpsAddress } from "../http/middleware/https.ts";
import { securityHeaders } from "../http/respond.ts";
import { isOwnHost, nameOf } from "../http/own_address.ts";
import { vendorFamilies } from "../../contracts/calls/vendors.ts";
import { createErrorDialect } from "../http/error_dialect.ts";
import { pathOfTarget, refuseUnread } from "../http/refuse_unread.ts";
import {
  checkTls,
  type Handle,
  isNamed,
  type Listener,
  type ListenOptions,
  openListener,
} from "../listener/open.ts";
import { connectionsByDescriptors } from "../listener/descriptors.ts";
import { limitsOf } from "../listener/limits.ts";
import { SharedParsersError } from "../listener/runtime_parsers.ts";
import type { ConnectionListeners } from "../listener/connection_events.ts";
import { systemClock } from "../base/clock.ts";
import { messageOf } from "../shared/fault.ts";
import { createServices, type Opened, type Services } from "./application.ts";
import { firstStart } from "./first_start.ts";
import { claimDataDir } from "../database/data_dir.ts";
import { openMasterKey } from "../keys/store/master_key.ts";
import { openJournal } from "../records/journal/journal.ts";
import { openAnalytics, openDatabase } from "../database/open.ts";
import { readProcessId } from "../database/process_id.ts";
import { claimLink } from "../dashboard/app.tsx";
import type { DashboardDeps } from "../dashboard/deps.ts";
import { createDashboardDeps } from "./wiring/dashboard.ts";
import { openSupervisor, type Supervisor } from "./supervisor.ts";
import { version } from "./version.ts";
import { greeting } from "./greeting.ts";

/** A running server. */
export interface Server {
  /** Address that the listener itself answers on. */
  readonly address: string;
  /** Answers what is under way, writes what waits and closes; resolves when all is done. */
  stop(): Promise<void>;
}

/** How long calls under way may take to end after a stop was asked for. */
const drainMs = 30_000;
/** Background calls can be given back: a container that is stopped has ten seconds in all. */
const backgroundDrainMs = 7_000;

/**
 * Starts the service: claims the data directory, takes the port, opens and migrates the store,
 * makes the first account, and prints what a newcomer needs. Throws an Error of one line that says
 * what to do when it can't.
 */
export async function startServer(
  config: Config,
  print: (line: string) => void,
  logLines?: LogLines,
): Promise<Server> {
  const directory = await claimDataDir(config.dataDir);
  // What a start that fails has to take back, last first.
  const undo: (() => Promise<void>)[] = [() => directory.release()];
  try {
    // The port is taken first: a key printed by a start that then fails would be lost.
    const beat: Pick<Supervisor, "alive"> = { alive: () => {} };
    const listeners = await listen(config, () => beat.alive());
    undo.push(() => listeners.abort());
    await directory.describe({ address: listeners.address });
    const log = logLines && createLog((line) => logLines.write(line), systemClock.now);
    const opened = await openStores(config, undo, log);
    const services = createServices(config, opened, version, logLines);
    // They close what was opened for them.
    undo.splice(opened.analytics === opened.database ? -1 : -2, Infinity, () => services.close());
    // First, so that nothing erased comes back out of the journal.
    await services.restoreTombstones();
    await services.recover();
    await services.storedKeys.refresh();
    // A version stands for its prices before the first record names it.
    await services.archivePrices();
    const dashboard = createDashboardDeps(services, config.baseUrl ?? listeners.address);
    const control = await serveControl(config.dataDir, operatorParts(services, dashboard));
    undo.push(() => control.close());
    const first = await firstStart(services);
    const frontDoor = createFrontDoor({ ...services, errorDialect: errorDialectOf(services) });
    const app = createApp(services, dashboard, {
      knows: (credential, accountId) => frontDoor.knows(credential, accountId),
    });
    listeners.open(
      (request, remoteHost, incoming) => app.fetch(request, { remoteHost, incoming }),
      {
        frontDoor,
        log: services.log,
        changed: (by) => services.metrics.connections.inc(by),
        count: (reason, connections) =>
          services.metrics.connectionsEnded.inc({ reason }, connections),
      },
    );
    const claim = await claimLink(dashboard);
    for (const line of greeting(services, listeners.address, first, claim)) print(line);
    const supervisor = openSupervisor({
      socket: config.notifySocket,
      from: `${config.dataDir}/notify.sock`,
      clock: services.clock,
      warn: services.log.warn,
    });
    supervisor.ready();
    beat.alive = supervisor.alive;
    return {
      address: listeners.address,
      stop: () => {
        supervisor.stopping();
        return stop(listeners, services, [control, directory]).finally(supervisor.close);
      },
    };
  } catch (thrown) {
    for (const act of undo.reverse()) await act();
    throw thrown;
  }
}

function operatorParts(services: Services, { people, baseUrl, signIn }: DashboardDeps) {
  const hasSignIn = signIn !== undefined;
  return adminAndExportDepsOf({ ...services, people, dashboardBase: baseUrl, hasSignIn });
}

/** Opens and migrates what the service stands on; `undo` learns how to close it. */
async function openStores(
  config: Config,
  undo: (() => Promise<void>)[],
  log?: Log,
): Promise<Opened> {
  const database = await openDatabase(config.databaseUrl, config.dataDir, log);
  undo.push(() => database.close());
  const analytics = await openAnalytics(config, database, log);
  if (analytics !== database) undo.push(() => analytics.close());
  const masterKey = await openMasterKey({
    configured: config.masterKey,
    dataDir: config.dataDir,
    database,
  });
  const journal = await openJournal(`${config.dataDir}/journal`, {
    sync: config.journalSync,
    maxBytes: config.journalMaxBytes,
  });
  const processId = await readProcessId(config.dataDir, () => crypto.randomUUID());
  return { database, analytics, masterKey, journal, processId };
}

async function stop(
  listeners: Listeners,
  services: Services,
  rest: readonly { close?(): Promise<void>; release?(): Promise<void> }[],
): Promise<void> {
  await Promise.all([listeners.drain(drainMs), services.drainBackground(backgroundDrainMs)]);
  await services.close();
  for (const one of rest) await (one.close?.() ?? one.release?.());
}

interface Listeners {
  address: string;
  /** From now on requests are answered; earlier ones have waited. */
  open(handle: Handle, hearers: ConnectionListeners & { frontDoor: FrontDoor }): void;
  drain(ms: number): Promise<void>;
  abort(): Promise<void>;
}

/** Takes the port, and the plain one beside it where there is TLS. */
async function listen(config: Config, onAlive: () => void): Promise<Listeners> {
  const opened = Promise.withResolvers<Handle>();
  const mostByDescriptors = connectionsByDescriptors(() => Deno.openSync(config.dataDir));
  const few = mostByDescriptors === undefined ? {} : { mostByDescriptors };
  let frontDoor: FrontDoor | undefined;
  const guard: ListenOptions["guard"] = (listener) => {
    let guarded: typeof listener | undefined;
    return (incoming, outgoing) => {
      guarded ??= frontDoor?.guard(listener);
      (guarded ?? listener)(incoming, outgoing);
    };
  };
  const tls = readTls(config);
  const main = await listenOn(
    config,
    "PORT",
    { port: config.port, onAlive, guard, ...few, ...(tls ? { tls } : {}) },
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
    open(handle, { frontDoor: door, ...hearers }) {
      for (const listener of listeners) listener.tell(hearers);
      frontDoor = door;
      opened.resolve(handle);
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

/** In front of the vendors that the operator added, which are not known before the start. */
const dialectOf = createErrorDialect(vendorFamilies);

async function listenOn(
  config: Config,
  variable: string,
  options: Pick<ListenOptions, "port" | "tls" | "guard" | "mostByDescriptors" | "onAlive">,
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

/** What the operator can do about a listener that can't be opened. */
function listenFailure(config: Config, variable: string, port: number, thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  const setting = `${variable}=${port}`;
  if (code === "EADDRINUSE") {
    return `${setting} is taken by another process: stop it, or set ${variable} to another port.`;
  }
  if (code === "EACCES") return `${setting} may not be opened by this user: use a port above 1023.`;
  return `HOST=${config.host} is not valid (${
    messageOf(thrown)
  }): expected an address of this machine, such as 127.0.0.1 or 0.0.0.0.`;
}

/**
 * The plain listener beside HTTPS answers nothing but the way to it: to `BASE_URL`, else to the host
 * that was asked, where that is ours: this machine, or a name of the certificate.
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
  return new Response(null, {
    status: 308,
    headers: { ...securityHeaders, location: httpsAddress(request.url, host, baseUrl, port) },
  });
}

function shownHost(host: string): string {
  if (host === "0.0.0.0" || host === "::" || isLoopback(host)) {
    return host === "::1" ? "[::1]" : "127.0.0.1";
  }
  return host.includes(":") ? `[${host}]` : host;
}
