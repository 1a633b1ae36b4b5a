import { type Log, type LogLines, stdoutLines } from "../base/log.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { serveControl } from "../admin/control.ts";
import { adminDepsOf } from "../admin/deps.ts";
import { claimLink, firstSignInLink } from "../dashboard/app.tsx";
import type { DashboardDeps } from "../dashboard/deps.ts";
import { operatorLimits } from "../keys/account.ts";
import { mintKey } from "../keys/credential.ts";
import type { Secret } from "../base/secret.ts";
import { ensureFirstAccount } from "../people/store/first_start.ts";
import { claimDataDir, refuseCopied } from "../database/data_dir.ts";
import { createFrontDoor } from "../http/front_door.ts";
import type { connectionsByDescriptors } from "../listener/descriptors.ts";
import { createApp, createServiceErrorDialect } from "./app.ts";
import { createServices, type Services } from "./application.ts";
import { type Config, isLoopback } from "./config.ts";
import { signInLinksOf } from "./sign_in_links.ts";
import type { AdminDeps } from "../admin/commands.ts";
import { createDashboardDeps } from "./dashboard.ts";
import { greeting } from "./greeting.ts";
import { type Listeners, openListeners } from "./listeners.ts";
import { createProgramLog } from "./log_events.ts";
import { createRepricing } from "../repricing/store/repricing.ts";
import { openStores } from "./open_stores.ts";
import { openPriceCommands } from "./vendors.ts";
import { createHeartbeat, openSupervisor, type Supervisor } from "./supervisor.ts";
import type { WriterThreads } from "../records/store/write_thread.ts";
import { noSiblings, onlySeat, type ParentLink, type WorkerSeat } from "../workers/parent_link.ts";
import { shareOf } from "./worker_services.ts";
import { version } from "./version.ts";

/** A running server. */
export interface Server {
  /** The listener's own address. */
  readonly address: string;
  /** Reloads what may change while the server runs: `MODELS_FILE`. */
  reload(): Promise<void>;
  /** Finishes requests in flight, drains records and closes; resolves when done. */
  stop(): Promise<void>;
}

/** The first start on a new database; the service already answers calls. */
export interface FirstStart {
  services: Services;
  key: Secret;
  /** The listener's own address. */
  address: string;
}

/** Called on the first start, and awaited before the greeting is printed. */
export type OnFirstStart = (start: FirstStart) => Promise<void>;

/** One of several workers that a parent has started. */
export interface Worker {
  seat: WorkerSeat;
  parent: ParentLink;
  /** Whether it prints the greeting for new users. */
  greets: boolean;
}

/** How long a stop waits for calls in flight. */
const drainMs = 30_000;
/**
 * How long a stop waits for background calls. Another process can resume them, and a container has
 * ten seconds in all to stop.
 */
const backgroundDrainMs = 7_000;

export interface ServerOptions {
  /** Where log lines go; standard output by default. */
  lines?: LogLines;
  /** Set if this process is one of several workers. */
  worker?: Worker | undefined;
  onFirstStart?: OnFirstStart | undefined;
  /** The clock of the services; the system's by default. */
  clock?: Clock;
  /** By default the server starts a thread of its own. */
  writerThreads?: WriterThreads;
  /** Finds the limit on connections; by default `connectionsByDescriptors`, in each server. */
  maxByDescriptors?: typeof connectionsByDescriptors;
}

/**
 * Starts the service: claims the data directory, opens the port, opens and migrates the databases,
 * creates the first account, and prints what a new user needs. For a `worker` the parent has
 * claimed the directory, and is notified when the worker is ready. Throws a one-line Error that
 * says how to fix a failed start.
 */
export async function startServer(
  wholeConfig: Config,
  print: (line: string) => void,
  { lines = stdoutLines(), worker, onFirstStart, ...options }: ServerOptions = {},
): Promise<Server> {
  const role = { ...options, ...worker ? { ...worker, siblings: worker.parent } : alone };
  const { seat, greets } = role;
  const config = shareOf(wholeConfig, seat);
  // Cleans up in reverse order: here if the start fails, else when the server stops.
  await using starting = new AsyncDisposableStack();
  starting.defer(() => lines.flush());
  const directory = worker ? undefined : await claimDataDir(config.dataDir);
  starting.defer(() => directory?.release());
  if (!config.databaseUrl) await refuseCopied(config.dataDir);
  const heartbeat: Pick<Supervisor, "alive"> = { alive: () => {} };
  const ports = starting.use(new AsyncDisposableStack());
  const openPorts = async () => {
    const sharing = { ...options, sharers: seat.count };
    const opened = await openListeners(config, () => heartbeat.alive(), sharing);
    ports.defer(() => opened.abort());
    return opened;
  };
  // Opened first: a start that fails after printing the first key would lose it. A worker that
  // joins others opens it last, so that early connections don't wait while those could answer.
  const openedFirst = greets ? await openPorts() : undefined;
  if (openedFirst) await directory?.describe({ address: openedFirst.address });
  // Serves the operator and the supervisor's watchdog until the services have stopped.
  const answering = starting.use(new AsyncDisposableStack());
  const { logFormat } = config;
  const log = createProgramLog((line) => lines.write(line), systemClock.now, { logFormat, seat });
  const opened = await openStores(config, starting, { log, seat, ...options });
  const services = createServices(config, opened, version, lines, starting, role);
  worker?.parent.answers(services.answerWorkers);
  await services.start();
  const listeners = openedFirst ?? await openPorts();
  warnOfVariables(config, services.log);
  const address = config.baseUrl ?? listeners.address;
  const dashboard = createDashboardDeps(services, address);
  const hasSignIn = config.oauth !== undefined;
  const signInLinks = signInLinksOf(config, address);
  const shared = { dashboardBase: address, hasSignIn, signIns: dashboard.signIns, signInLinks };
  const operator = operatorDepsOf(services, shared);
  if (seat.index === 1) {
    const control = await serveControl(config.dataDir, operator);
    answering.defer(() => control.close());
  }
  const firstKey = await firstStart(services);
  openFor(services, listeners, { dashboard, operator });
  if (firstKey) await onFirstStart?.({ services, key: firstKey, address: listeners.address });
  if (greets || firstKey) {
    const shown = { dashboard, firstKey, greets };
    for (const line of await greetingOf(services, listeners.address, shown)) print(line);
  }
  const supervisor = worker
    ? superviseByParent(worker.parent, listeners.address)
    : openSupervisor(supervisorOf(config, services.log));
  answering.defer(() => supervisor.close());
  supervisor.ready();
  heartbeat.alive = supervisor.alive;
  const running = starting.move();
  return {
    address: listeners.address,
    reload: () => services.routing.modelsFile.refresh(),
    async stop() {
      await using _ending = running;
      supervisor.stopping();
      await drainCalls(services, listeners);
    },
  };
}

/** Waits for the calls under way; answers that their callers have left get what is left of the time. */
async function drainCalls(
  { log, admission, background: { backgroundRunner }, calls: { streams }, records }: Services,
  listeners: Pick<Listeners, "drain">,
): Promise<void> {
  // So that a stop that takes a while isn't taken for one that hangs.
  log.info("stopping: requests in flight have 30 seconds to end", {
    requests: admission.underWay,
    left_by_callers: streams.left,
    background_calls: backgroundRunner.count,
    records_waiting: records.recorder.waiting,
  });
  const untilMs = systemClock.monotonicMs() + drainMs;
  await Promise.all([listeners.drain(drainMs), backgroundRunner.drain(backgroundDrainMs)]);
  await streams.drain(Math.max(0, untilMs - systemClock.monotonicMs()));
}

const alone = { seat: onlySeat, siblings: noSiblings, greets: true };

/** Returns the greeting's lines; if `greets` is false, without the link that makes an owner. */
async function greetingOf(
  { config, vendors: { registry, prices }, clock }: Services,
  address: string,
  { dashboard, firstKey, greets }: {
    dashboard: DashboardDeps;
    firstKey: Awaited<ReturnType<typeof firstStart>>;
    greets: boolean;
  },
): Promise<string[]> {
  const isLocal = isLoopback(config.host) && config.baseUrl === undefined;
  return greeting({ config, version, registry, prices, clock }, address, firstKey, {
    claim: greets ? await claimLink(dashboard) : undefined,
    // On loopback only the terminal's owner sees the link; elsewhere whoever reads the log does.
    signIn: firstKey && isLocal ? await firstSignInLink(dashboard) : undefined,
  });
}

/** Call it after the vendors are read, since their rows may name variables of their own. */
function warnOfVariables(
  { unknownVariables, trustProxy, baseUrl }: Config,
  { warn }: Pick<Log, "warn">,
): void {
  for (const { name, nearest } of unknownVariables()) {
    warn("an environment variable is unknown", { name, did_you_mean: nearest });
  }
  if (trustProxy && baseUrl === undefined) {
    warn("TRUST_PROXY is set, but BASE_URL isn't: links and cookies are for plain HTTP");
  }
}

/** Returns the options by which `openSupervisor` reaches systemd. */
export function supervisorOf(config: Config, { warn }: Pick<Log, "warn">) {
  const { notifySocket: socket, dataDir } = config;
  return { socket, from: `${dataDir}/notify.sock`, clock: systemClock, warn };
}

/** A worker's supervisor is its parent, which notifies systemd for all workers. */
function superviseByParent(parent: ParentLink, address: string): Supervisor {
  return {
    ready: () => parent.send({ kind: "ready", address }),
    ...createHeartbeat(1_000, systemClock, () => parent.send({ kind: "alive" })),
  };
}

/** Starts to answer requests. */
function openFor(
  services: Services,
  listeners: Listeners,
  deps: { dashboard: DashboardDeps; operator: AdminDeps },
): void {
  const { admission, log, metrics, vendors } = services;
  const errorDialect = createServiceErrorDialect(vendors.registry);
  const frontDoor = createFrontDoor({ admission, clock: services.clock, errorDialect });
  const { app, directCalls, sockets } = createApp(services, deps, {
    knows: (credential, accountId) => frontDoor.knows(credential, accountId),
    enter: (incoming, call, begin) => frontDoor.enter(incoming, call, begin),
    ended: (call) => frontDoor.ended(call),
  });
  listeners.open(
    (request, remoteHost, incoming) => app.fetch(request, { remoteHost, incoming }),
    {
      frontDoor,
      directCalls,
      sockets,
      log,
      changed: (by) => metrics.connections.inc(by),
      count: (reason, connections) => metrics.connectionsEnded.inc({ reason }, connections),
    },
  );
}

/** Dependencies of the operator's commands, and of their API, in a running server. */
function operatorDepsOf(
  services: Services,
  dashboard: Pick<AdminDeps, "dashboardBase" | "hasSignIn" | "signIns" | "signInLinks">,
) {
  const { config, database, analyticsStore, clock, newId, stores, keys } = services;
  const { vendors, routing, records, budgets, webhooks } = services;
  const deps = adminDepsOf({
    ...{ ...stores, ...keys, ...dashboard, clock, newId, registry: vendors.registry },
    budgets: budgets.budgets,
    webhooks: webhooks.webhooks,
    openVirtualModels: () => routing.virtualModels,
    isModel: (accountId, name) =>
      Promise.resolve(routing.routes.lookUp(accountId, name) !== undefined),
    reservations: services.credit.reservations,
    flushRecords: records.flushRecords,
    archivePrices: services.archivePrices,
    openPrices: () => ({
      ...openPriceCommands(config),
      repricing: createRepricing(database, analyticsStore),
    }),
    scrub: services.erasure.scrub,
    journalStatus: services.journalStatus,
  });
  return { ...deps, exports: services.exports };
}

/**
 * Creates the first account and its key, once for all processes that share the database. Returns the
 * key in the one process that created it.
 */
export async function firstStart(
  services: Pick<Services, "config" | "database" | "clock">,
): Promise<Secret | undefined> {
  const { value, ...made } = mintKey(services.clock);
  const { created } = await ensureFirstAccount(services.database, {
    account: { name: "default", tier: "enterprise", ...operatorLimits },
    key: {
      ...made,
      name: "first key",
      scopes: [],
      models: [],
      onDisconnect: "cancel",
      translationMode: "default",
      capDayNanos: null,
      capMonthNanos: null,
      expiresAt: null,
    },
    creditNanos: services.config.startingCreditNanos,
  });
  return created ? value : undefined;
}
