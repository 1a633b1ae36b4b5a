import { answerProbes } from "../http/middleware/answer_probes.ts";
import { cancelHeadBody } from "../http/middleware/head_answers.ts";
import { Hono, type HonoRequest, type MiddlewareHandler } from "hono";
import { createFailureLimit } from "../rate_limits/failure_limit.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import { maskSecrets } from "../base/secret.ts";
import type { SocketHandler } from "../base/frame_channel.ts";
import type { ErrorDialect } from "../../contracts/kernel/contract.ts";
import { errors } from "../../contracts/kernel/errors.ts";
import { type BindDeps, Endpoints } from "../http/bind.ts";
import { createDirectCalls, type DirectCalls } from "../http/direct_calls.ts";
import { DirectEndpoints } from "../http/direct_endpoints.ts";
import { createErrorDialect } from "../http/error_dialect.ts";
import { asFault, errorReply } from "../http/errors.ts";
import { createNearestEndpoint } from "../http/nearest_endpoint.ts";
import { createAccessLog, logAccess } from "../http/middleware/access_log.ts";
import { createAuthenticate, requireKey } from "../http/middleware/authenticate.ts";
import { allowOrigins, secure } from "../http/middleware/response_headers.ts";
import { upgradePlain } from "../http/middleware/https.ts";
import { createRateCheck, rateLimit } from "../http/middleware/rate_limit.ts";
import { type RequestContextDeps, setRequestContext } from "../http/middleware/request_context.ts";
import { toResponse } from "../http/respond.ts";
import type { AdminDeps } from "../admin/commands.ts";
import { scopesOf } from "../admin/deps.ts";
import { priceCheck } from "../admin/price_check_command.ts";
import { repriceBy } from "../admin/reprice_command.ts";
import { createCreditHistory } from "../credit/store/credit_history.ts";
import { adminAccountRoutes } from "../http/routes/admin_accounts.ts";
import { adminBudgetRoutes } from "../http/routes/admin_budgets.ts";
import { adminWebhookRoutes } from "../http/routes/admin_webhooks.ts";
import { type AdminPriceDeps, adminPriceRoutes } from "../http/routes/admin_prices.ts";
import { adminKeyRoutes } from "../http/routes/admin_keys.ts";
import { createResponseSockets } from "../http/sockets/response_sockets.ts";
import { adminAuditRoutes } from "../http/routes/admin_audit.ts";
import { adminModelRoutes } from "../http/routes/admin_models.ts";
import { deletionRoutes } from "../http/routes/deletion.ts";
import { cohortRoutes } from "../http/routes/cohort.ts";
import { evalRoutes } from "../http/routes/evals.ts";
import { exportRoutes } from "../http/routes/exports.ts";
import { healthRoutes } from "../http/routes/health.ts";
import { recordedCallRoutes } from "../http/routes/interactions.ts";
import { usageRoutes } from "../http/routes/usage.ts";
import { storedResponseRoutes } from "../http/routes/stored_responses.ts";
import { mediaRoutes, signedMediaRoutes } from "../http/routes/media.ts";
import { mediaCallRoutes } from "../http/routes/media_calls.ts";
import { modelRoutes } from "../http/routes/models.ts";
import { operationCallRoutes } from "../http/routes/operation_calls.ts";
import { operationRoutes } from "../http/routes/operations.ts";
import { proxyRoutes } from "../http/routes/proxy.ts";
import { referenceRoutes } from "../http/routes/reference.ts";
import { createCreditSummaries } from "../credit/credit_summary.ts";
import { createReadSpend } from "../credit/store/spend.ts";
import { statusRoutes } from "../http/routes/status.ts";
import { createCostLines } from "../repricing/cost_lines.ts";
import type { FrontDoor } from "../http/front_door.ts";
import type { AddressDeps } from "../http/own_address.ts";
import type { Env, RequestContext } from "../http/request_context.ts";
import { createDashboard } from "../dashboard/app.tsx";
import type { DashboardDeps } from "../dashboard/deps.ts";
import type { Log } from "../base/log.ts";
import type { Registry } from "../vendors/registry.ts";
import type { Services } from "./application.ts";
import type { Config } from "./config.ts";

/** Builds the web application (middleware in order, then the routes) and the fast path of calls. */
export function createApp(
  services: Services,
  { dashboard, operator }: { dashboard: DashboardDeps; operator: AdminDeps },
  frontDoor: Partial<Pick<FrontDoor, "knows" | "enter" | "ended">> = {},
): { app: Hono<Env>; directCalls: DirectCalls; sockets: SocketHandler } {
  const { config, calls, erasure, metrics, stores } = services;
  const { registry } = services.vendors;
  const app = new Hono<Env>({ strict: true });
  const steps = createSteps(services, frontDoor);
  const { errorDialect, onFault } = steps;
  const direct = new DirectEndpoints();
  const { maxBodyBytes, trustProxy } = config;
  const { bodies, heavy } = calls;
  const isFirstAccount = async (id: number) => (await stores.accounts.first())?.id === id;
  const { arrivalOf } = erasure;
  const endpoints = new Endpoints(app, {
    ...{ maxBodyBytes, bodies, heavy, onFault, errorDialect, isFirstAccount, arrivalOf, direct },
  });

  app.use(setRequestContext(steps.contexts));
  app.use(secure(errorDialect));
  app.use(logAccess(steps.accessLog));
  app.get("*", cancelHeadBody);
  if (trustProxy) app.use(upgradePlain(config.baseUrl));
  if (config.corsOrigins.length > 0) app.use(allowOrigins(config.corsOrigins));
  const metricsText = services.siblings.metrics ?? (() => metrics.text());
  operationRoutes(endpoints, { ready: services.ready, metricsText, settings: config });
  publicRoutes(endpoints, services);
  app.use("/dashboard/*", nameRoute("/dashboard"));
  // The dashboard accepts sessions only; everything below accepts keys only.
  app.route("/", createDashboard(dashboard));
  app.use(answerProbes(registry));
  app.use(requireKey(steps.authenticate));
  app.use(rateLimit(steps.rateCheck));
  dataRoutes(endpoints, services);
  readingRoutes(endpoints, services);
  adminRoutes(endpoints, services, operator);
  callRoutes(endpoints, services);
  answerFaults(app, steps, registry);

  const directSteps = { endpoints: direct, ...steps };
  const sockets = createResponseSockets({
    ...{ ...directSteps, heavy, frontDoor },
    ...socketOptions(services),
  });
  return { app, directCalls: createDirectCalls(directSteps), sockets };
}

/** Creates the steps that every request takes, with hono and without. */
function createSteps(services: Services, { knows }: Partial<Pick<FrontDoor, "knows">>) {
  const { config, clock, log, metrics, keys, newId } = services;
  const errorDialect = createServiceErrorDialect(services.vendors.registry);
  const onFault = createFaultLog(log);
  const failures = createFailureLimit(clock, failedKeys);
  return {
    ...{ errorDialect, onFault },
    contexts: {
      ...{ clock, newRequestId: newId, trustProxy: config.trustProxy },
      ...createLoadHooks(services),
    },
    accessLog: createAccessLog({ clock, log, metrics, refusals: services.refusalRecorder }),
    authenticate: createAuthenticate({
      ...{ keyCache: keys.keyCache, failures, errorDialect, onFault, knows },
    }),
    rateCheck: createRateCheck({ limiter: services.rateLimiter, errorDialect, onFault }),
  };
}

/** Answers what no endpoint answers: unknown paths, and faults of middleware. */
function answerFaults(
  app: Hono<Env>,
  { errorDialect, onFault }: Pick<BindDeps, "errorDialect" | "onFault">,
  registry: Registry,
): void {
  const notFound = createNotFound(registry);
  const answer = (fault: Fault, dialect: ErrorDialect, request: RequestContext) => {
    onFault(fault, request);
    return toResponse(errorReply(fault, dialect, request.requestId), request);
  };
  app.notFound((context) => {
    const { req } = context;
    const dialect = errorDialect(req.path, (name) => req.header(name));
    return answer(notFound(req), dialect, context.get("requestContext"));
  });
  app.onError((thrown, context) =>
    answer(asFault(thrown), errorDialect(context.req.path), context.get("requestContext"))
  );
}

function socketOptions({ config, calls, dialects, newId, socketTurns }: Services) {
  return {
    frames: dialects.responses.socket!,
    isEnabled: config.responsesWebSocket,
    baseUrl: config.baseUrl,
    messages: calls.socketMessages,
    turns: socketTurns,
    // One account can't take all connections.
    maxPerAccount: Math.max(16, Math.floor(config.connectionsMax / 4)),
    newId,
  };
}

/** Mounts the endpoints that need no key. */
function publicRoutes(app: Endpoints, { config, records }: Services): void {
  const { media, mediaSigner, flushRecords } = records;
  referenceRoutes(app, addressOf(config));
  signedMediaRoutes(app, { media, mediaSigner, flushRecords });
}

/** Mounts status, models, health, and what works on recorded calls. */
function dataRoutes(app: Endpoints, services: Services): void {
  const { clock, log, newId, version, cohorts, exports, idempotency } = services;
  const { registry, catalogue, prices } = services.vendors;
  const { routes } = services.routing;
  const { deletions } = services.erasure;
  const { evals, graderProblem, evalRunner } = services.evals;
  const { flushRecords, media, mediaSigner } = services.records;
  const { storedKeys } = services.keys;
  statusRoutes(app, {
    ...{ clock, version },
    // Administration is never implied.
    impliedScopes: scopesOf(registry).filter((scope) => scope !== "admin"),
    creditSummary: createCreditSummaries({
      credit: (accountId) => services.credit.reservations.show(accountId),
      spent: createReadSpend(services.database),
      clock,
    }),
  });
  modelRoutes(app, { registry, routes, catalogue, storedKeys, log });
  const { targetHealth } = services;
  healthRoutes(app, { registry, catalogue, clock, targetHealth });
  deletionRoutes(app, { deletions, idempotency, clock });
  exportRoutes(app, { exports, flushRecords, idempotency, clock, audit: services.stores.audit });
  mediaRoutes(app, { media, mediaSigner, flushRecords });
  cohortRoutes(app, { cohorts, flushRecords, idempotency });
  evalRoutes(app, {
    ...{ clock, log, newId, routes, catalogue, prices, storedKeys, flushRecords },
    ...{ evals, graderProblem, idempotency, wakeEvals: () => evalRunner.wake() },
  });
}

/** Mounts recorded calls, their sums, and credit. */
function readingRoutes(app: Endpoints, services: Services): void {
  const { clock, archivePrices, credit } = services;
  const { registry, prices } = services.vendors;
  const { priceVersions } = services.stores;
  const { flushRecords, fairAnalytics: interactions } = services.records;
  recordedCallRoutes(app, {
    ...{ interactions, flushRecords },
    costLines: createCostLines({ priceVersions, archivePrices, registry, prices }),
  });
  usageRoutes(app, {
    ...{ flushRecords, clock },
    usage: interactions.usage,
    groupedCalls: interactions.groupedCalls,
    credit: (accountId) => credit.reservations.show(accountId),
  });
}

/** Mounts administration: the operator's commands over HTTP, with the same dependencies. */
function adminRoutes(
  app: Endpoints,
  { database, idempotency, routing, stores, vendors }: Services,
  operator: AdminDeps,
): void {
  const deps = {
    ...{ ...operator, ...priceOperationsOf(operator), idempotency, audit: stores.audit },
    ...{ prices: vendors.prices, virtualModels: routing.virtualModels },
    creditHistory: createCreditHistory(database),
  };
  adminAccountRoutes(app, deps);
  adminKeyRoutes(app, deps);
  adminBudgetRoutes(app, deps);
  adminWebhookRoutes(app, deps);
  adminPriceRoutes(app, deps);
  adminModelRoutes(app, deps);
  adminAuditRoutes(app, deps);
}

/** Offers the operator's commands `reprice` and `prices check` to the API. */
function priceOperationsOf(operator: AdminDeps): Pick<AdminPriceDeps, "reprice" | "checkPrices"> {
  return {
    reprice: async ({ dryRun, ...values }, by) =>
      (await repriceBy(operator, { ...values, "dry-run": dryRun }, by)).json,
    checkPrices: async (options) => (await priceCheck(operator, options)).json,
  };
}

function callRoutes(app: Endpoints, services: Services): void {
  const { config, dialects, idempotency } = services;
  const { registry } = services.vendors;
  const { routes } = services.routing;
  const { storedKeys } = services.keys;
  const { relay, operations, generateImages, generateSpeech, countTokens } = services.calls;
  const { background } = services.background;
  const { mediaSigner } = services.records;
  proxyRoutes(app, { registry, routes, relay, background, idempotency, countTokens, dialects });
  operationCallRoutes(app, {
    ...{ registry, routes, storedKeys, operations, idempotency, config },
    targetHealth: services.targetHealth,
  });
  mediaCallRoutes(app, {
    ...{ ...addressOf(config), generateImages, generateSpeech },
    ...{ mediaSigner, idempotency, registry, routes },
  });
  storedResponseRoutes(app, { registry, background });
}

function addressOf({ baseUrl, host, tls }: Config): AddressDeps {
  return { baseUrl, host, secure: tls !== undefined };
}

/** Rate limit of wrong keys per address: enough for a fleet with an outdated key. */
const failedKeys = { burst: 400, perSecond: 5 };

/** Lets requests report when they work and when they wait. */
function createLoadHooks(
  { loopWatch, admission }: Pick<Services, "loopWatch" | "admission">,
): Pick<RequestContextDeps, "onWork" | "onWait"> {
  return {
    onWork: (request) => loopWatch.begin(request),
    onWait: ({ incoming }) => {
      if (incoming) admission.turned(incoming);
    },
  };
}

/** Creates the function that gives the dialect of a path's errors before its route is known. */
export function createServiceErrorDialect(registry: Registry) {
  return createErrorDialect(registry.all.map((vendor) => vendor.family));
}

/**
 * Creates a function that returns `endpoint_not_found` with what the request may have meant. A
 * WebSocket handshake whose `Upgrade` header a proxy has removed gets `websocket_unsupported`
 * instead: clients then fall back to HTTP at once, whereas a 404 would make them try again.
 */
function createNotFound(registry: Registry) {
  const nearestEndpoint = createNearestEndpoint(registry.all.map(({ family }) => family));
  return (request: HonoRequest): Fault => {
    const { method, path } = request;
    const isHandshake = request.header("sec-websocket-key") && !request.header("upgrade");
    if (method === "GET" && path.endsWith("/responses") && isHandshake) {
      return new Fault("websocket_unsupported", {
        message: "A proxy in front of this service does not forward WebSockets. Use HTTP.",
      });
    }
    // A model's name is in some paths, and some put a key where it belongs.
    const shown = maskSecrets(path);
    const hint = nearestEndpoint(method, shown);
    const message = `No such endpoint: ${method} ${shown.slice(0, 200)}${hint && `.${hint}`}`;
    return new Fault("endpoint_not_found", { message });
  };
}

/** One route name for all pages in log and metrics, since some paths hold ids. */
function nameRoute(route: string): MiddlewareHandler<Env> {
  return async (context, next) => {
    context.get("requestContext").route = route;
    await next();
  };
}

/** Only our own failures are logged as errors; invalid requests are ordinary. */
function createFaultLog(log: Log): BindDeps["onFault"] {
  return (fault, request) => {
    request.fault = fault;
    const { status } = errors[fault.code];
    if (status < 500) return;
    const fields = {
      id: maskSecrets(request.requestId),
      code: fault.code,
      note: fault.note === undefined ? undefined : maskSecrets(fault.note),
      cause: fault.cause === undefined ? undefined : maskSecrets(messageOf(fault.cause)),
    };
    if (fault.code === "internal_error") {
      const stack = fault.cause instanceof Error ? fault.cause.stack?.split("\n").slice(1, 6) : [];
      log.error("a request failed", {
        ...fields,
        at: stack?.map((line) => line.trim()).join(" | "),
      });
    } else {
      log.warn("a request failed", fields);
    }
  };
}
