import { Hono, type MiddlewareHandler } from "hono";
import { createFailureLimit } from "../rate_limits/failure_limit.ts";
import { Fault } from "../shared/fault.ts";
import { messageOf } from "../shared/fault.ts";
import { maskSecrets } from "../base/secret.ts";
import { errors } from "../../contracts/kernel/errors.ts";
import type { BindDeps } from "../http/bind.ts";
import { createErrorDialect } from "../http/error_dialect.ts";
import { asFault, errorReply } from "../http/errors.ts";
import { accessLog } from "../http/middleware/access_log.ts";
import { authenticate } from "../http/middleware/authenticate.ts";
import { allowOrigins } from "../http/middleware/cors.ts";
import { upgradePlain } from "../http/middleware/https.ts";
import { rateLimit } from "../http/middleware/rate_limit.ts";
import { createRequestContext } from "../http/middleware/request_context.ts";
import { secure } from "../http/middleware/secure.ts";
import { toResponse } from "../http/respond.ts";
import { deletionRoutes } from "../http/routes/deletion.ts";
import { cohortRoutes } from "../http/routes/cohort.ts";
import { evalRoutes } from "../http/routes/evals.ts";
import { exportRoutes } from "../http/routes/exports.ts";
import { healthRoutes } from "../http/routes/health.ts";
import { storedResponseRoutes } from "../http/routes/stored_responses.ts";
import { mediaRoutes, signedMediaRoutes } from "../http/routes/media.ts";
import { mediaCallRoutes } from "../http/routes/media_calls.ts";
import { modelRoutes } from "../http/routes/models.ts";
import { operationCallRoutes } from "../http/routes/operation_calls.ts";
import { operationRoutes } from "../http/routes/operations.ts";
import { proxyRoutes } from "../http/routes/proxy.ts";
import { referenceRoutes } from "../http/routes/reference.ts";
import { statusRoutes } from "../http/routes/status.ts";
import type { FrontDoor } from "../http/front_door.ts";
import type { Env } from "../http/request_context.ts";
import { createDashboard } from "../dashboard/app.tsx";
import type { DashboardDeps } from "../dashboard/deps.ts";
import type { Services } from "./application.ts";

/** The web application: middleware in the order of interface.md §5, then the mounts. */
export function createApp(
  services: Services,
  dashboard: DashboardDeps,
  frontDoor: Partial<Pick<FrontDoor, "knows">> = {},
): Hono<Env> {
  const { config, clock, log, metrics } = services;
  const app = new Hono<Env>({ strict: true });
  const errorDialect = errorDialectOf(services);
  const onFault = faultLog(services);
  const { bodies, heavy } = services;
  const deps: BindDeps = { maxBodyBytes: config.maxBodyBytes, bodies, heavy, onFault };
  const answerFault = (fault: Fault, path: string, scene: Env["Variables"]["requestContext"]) => {
    onFault(fault, scene.requestId);
    return toResponse(errorReply(fault, errorDialect(path), scene.requestId), scene);
  };

  const { trustProxy } = config;
  app.use(
    createRequestContext({ clock, newRequestId: services.newId, trustProxy, ...loadOf(services) }),
  );
  app.use(secure(errorDialect));
  app.use(accessLog({ clock, log, metrics }));
  if (trustProxy) app.use(upgradePlain(config.baseUrl));
  if (config.corsOrigins.length > 0) app.use(allowOrigins(config.corsOrigins));
  operationRoutes(app, {
    ...deps,
    ready: services.ready,
    metrics,
    metricsToken: config.metricsToken,
  });
  const address = { baseUrl: config.baseUrl, host: config.host, secure: config.tls !== undefined };
  referenceRoutes(app, { ...deps, ...address });
  signedMediaRoutes(app, { ...deps, ...services });
  app.use("/dashboard/*", nameRoute("/dashboard"));
  // People have sessions in place of keys, which open nothing here, as sessions open nothing below.
  app.route("/", createDashboard(dashboard));
  const failures = createFailureLimit(clock, failedKeys);
  const { knows } = frontDoor;
  app.use(authenticate({ keyCache: services.keyCache, failures, errorDialect, onFault, knows }));
  app.use(rateLimit({ limiter: services.rateLimiter, errorDialect, onFault }));
  statusRoutes(app, { ...deps, clock, version: services.version });
  modelRoutes(app, { ...deps, ...services });
  healthRoutes(app, { ...deps, ...services });
  deletionRoutes(app, { ...deps, ...services });
  exportRoutes(app, { ...deps, ...services });
  mediaRoutes(app, { ...deps, ...services });
  cohortRoutes(app, { ...deps, ...services });
  evalRoutes(app, { ...deps, ...services });
  proxyRoutes(app, { ...deps, ...services });
  operationCallRoutes(app, { ...deps, ...services });
  mediaCallRoutes(app, { ...deps, ...services, ...address });
  storedResponseRoutes(app, { ...deps, ...services });

  app.notFound((context) =>
    answerFault(
      new Fault("endpoint_not_found", {
        message: `No such endpoint: ${context.req.method} ${context.req.path.slice(0, 200)}`,
      }),
      context.req.path,
      context.get("requestContext"),
    )
  );
  app.onError((thrown, context) =>
    answerFault(asFault(thrown), context.req.path, context.get("requestContext"))
  );
  return app;
}

/** What an address may bring of wrong keys: enough for a fleet that was given an old one. */
const failedKeys = { burst: 400, perSecond: 5 };

/** What the process has to do is known by what requests say of themselves. */
function loadOf({ loopWatch, admission }: Pick<Services, "loopWatch" | "admission">) {
  type Scene = Env["Variables"]["requestContext"];
  return {
    working: (requestContext: Scene) => loopWatch.begins(requestContext),
    waits: ({ incoming }: Scene) => {
      if (incoming) admission.turned(incoming);
    },
  };
}

/** The dialect of a path's errors, before its route is known. */
export function errorDialectOf({ registry }: Pick<Services, "registry">) {
  return createErrorDialect(registry.all.map((vendor) => vendor.family));
}

/** One name for all pages in log and metrics: some of their paths hold ids. */
function nameRoute(route: string): MiddlewareHandler<Env> {
  return async (context, next) => {
    context.get("requestContext").route = route;
    await next();
  };
}

/** Only failures of our own are logged as errors; what callers did wrong is an ordinary answer. */
function faultLog(services: Pick<Services, "log">): BindDeps["onFault"] {
  return (fault, requestId) => {
    const { status } = errors[fault.code];
    if (status < 500) return;
    const fields = {
      id: requestId,
      code: fault.code,
      note: fault.note === undefined ? undefined : maskSecrets(fault.note),
      cause: fault.cause === undefined ? undefined : maskSecrets(messageOf(fault.cause)),
    };
    if (fault.code === "internal_error") {
      const stack = fault.cause instanceof Error ? fault.cause.stack?.split("\n").slice(1, 6) : [];
      services.log.error("a request failed", {
        ...fields,
        at: stack?.map((line) => line.trim()).join(" | "),
      });
    } else {
      services.log.warn("a request failed", fields);
    }
  };
}
