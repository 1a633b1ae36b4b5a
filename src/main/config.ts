import { withoutEnd } from "../base/trim.ts";
import { basename, dirname, join } from "node:path";
import { vendorFamilies } from "../../contracts/calls/vendors.ts";
import type { Secret } from "../base/secret.ts";
import { shellWord } from "../base/shell_word.ts";
import type { RoleSettings, SignInSettings } from "../dashboard/identity_provider.ts";
import { type Role, roles } from "../people/person.ts";
import { ConfigError, EnvironmentReader, type UnknownVariable } from "./environment.ts";
import type { CollectorSettings } from "../telemetry/collector.ts";
import type { MetricExportSettings } from "../telemetry/metric_export.ts";
import type { TracingSettings } from "../telemetry/tracing.ts";
import type { BucketSettings } from "../exports/store/export_bucket.ts";
import { programForm } from "../base/program_files.ts";

export { ConfigError };

/** The environment, parsed and validated (docs/configuration.md). */
export interface Config {
  host: string;
  port: number;
  baseUrl: string | undefined;
  dataDir: string;
  databaseUrl: Secret | undefined;
  analyticsDatabaseUrl: Secret | undefined;
  masterKey: Secret | undefined;
  /** Label → overrides from the environment. */
  vendors: Readonly<Record<string, VendorConfig>>;
  vendorsFile: string | undefined;
  pricesFile: string | undefined;
  modelsFile: string | undefined;
  startingCreditNanos: bigint;
  tls: { certFile: string; keyFile: string; httpPort: number | undefined } | undefined;
  trustProxy: boolean;
  allowPlainHttp: boolean;
  corsOrigins: readonly string[];
  oauth: OAuthConfig | undefined;
  /** Whether links that `admin sign-in` prints open the dashboard. */
  localSignIn: boolean;
  exportBucket: BucketSettings | undefined;
  retentionPayloadDays: number | undefined;
  retentionUsageDays: number | undefined;
  maxBodyBytes: number;
  /** Max requests in flight; an account may have a quarter of what the others leave. */
  callsInFlightMax: number;
  /** Max memory of large bodies: for requests, and the same again for answers. */
  bodiesInFlightBytes: number;
  payloadMaxBytes: number;
  mediaInlineBytes: number;
  journalMaxBytes: number;
  connectTimeoutMs: number;
  firstByteTimeoutMs: number;
  idleTimeoutMs: number;
  /** How long a caller may read nothing of its answer. */
  callerUnreadTimeoutMs: number;
  /** Silence in a translated stream before a keep-alive is sent. */
  keepAliveMs: number;
  /** Max open streams per account; a tenth in the free tier. */
  streamsPerAccountMax: number;
  /** Max unfinished background calls per account; a tenth in the free tier. */
  backgroundPerAccountMax: number;
  /** Max duration of a background call at the vendor. */
  backgroundTimeoutMs: number;
  /** Max bytes of payloads and media per account and day, in this process. */
  storedBytesPerDay: number;
  journalSync: "always" | "interval";
  // Callers' connections (docs/configuration.md, "Connections").
  callerHeadTimeoutMs: number;
  callerBodyTimeoutMs: number;
  callerIdleTimeoutMs: number;
  connectionsMax: number;
  /** Whether `GET …/responses` opens WebSockets (`RESPONSES_WEBSOCKET`). */
  responsesWebSocket: boolean;
  connectionsPerPeerMax: number;
  /** Where traces and metrics are exported to. */
  telemetry: TelemetrySettings;
  logFormat: LogFormat;
  /** systemd's notification socket (`NOTIFY_SOCKET`). */
  notifySocket: string | undefined;
  /** Processes that answer on one port (`WORKERS`). */
  workers: number;
  /** What people type to run this program, before a word such as `admin` or `demo`. */
  program: string;
  /** Which worker this process is (`DEMETER_WORKER`, set by the program itself). */
  worker: WorkerConfig | undefined;
  leaseSeconds: number;
  metricsToken: Secret | undefined;
  fetchAllowHosts: readonly string[];
  /** Returns the environment variable that a vendor row names; undefined if it is not set. */
  secretFrom(name: string): Secret | undefined;
  /** Returns the variables that look like ours, but that nothing has read so far. */
  unknownVariables: () => readonly UnknownVariable[];
}

interface VendorConfig {
  baseUrl: string | undefined;
  apiKey: Secret | undefined;
  keyVariable?: string;
}

/** How to reach the collector, and what to send it; undefined parts are not sent. */
interface TelemetrySettings extends CollectorSettings {
  traces: Omit<TracingSettings, keyof CollectorSettings> | undefined;
  metrics: Omit<MetricExportSettings, keyof CollectorSettings> | undefined;
}

/** Reads the variables that the OpenTelemetry specification defines. */
function telemetrySettings(read: EnvironmentReader): TelemetrySettings {
  const base = read.baseUrl("OTEL_EXPORTER_OTLP_ENDPOINT");
  const ownOfTraces = read.url("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  const ownOfMetrics = read.url("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
  const name = read.text("OTEL_SERVICE_NAME");
  const isDisabled = read.flag("OTEL_SDK_DISABLED") ?? false;
  const exporters = ["otlp", "none"] as const;
  const hasNoTraces = read.oneOf("OTEL_TRACES_EXPORTER", exporters) === "none";
  const hasNoMetrics = read.oneOf("OTEL_METRICS_EXPORTER", exporters) === "none";
  const everyMs = read.milliseconds("OTEL_METRIC_EXPORT_INTERVAL") ?? 60_000;
  const capturesContent = read.flag("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") ?? false;
  const address = (own: string | undefined, signal: string, isOff: boolean) =>
    isDisabled || isOff ? undefined : own ?? (base && `${base}/v1/${signal}`);
  const traces = address(ownOfTraces, "traces", hasNoTraces);
  const metrics = address(ownOfMetrics, "metrics", hasNoMetrics);
  return {
    protocol: read.oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", ["http/protobuf", "http/json"]) ??
      "http/protobuf",
    headers: read.pairs("OTEL_EXPORTER_OTLP_HEADERS", true),
    timeoutMs: read.milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT") ?? 10_000,
    resource: {
      "service.name": "demeter",
      ...read.pairs("OTEL_RESOURCE_ATTRIBUTES"),
      ...(name ? { "service.name": name } : {}),
    },
    traces: traces === undefined ? undefined : { endpoint: traces, capturesContent },
    metrics: metrics === undefined ? undefined : { endpoint: metrics, everyMs },
  };
}

export type LogFormat = "text" | "json";

/** What the process that starts a worker passes to it. */
export interface WorkerConfig {
  /** From 1 to `workers`. */
  index: number;
  /** Whether it prints the greeting: only the first worker does, when the program starts. */
  greets: boolean;
}

export interface OAuthConfig extends SignInSettings {
  /** In lower case; people with a verified email in these domains may sign in. */
  emailDomains: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the process's environment; nothing else does. `overrides` take precedence. */
export function readConfig(overrides: Environment = {}): Config {
  return parseConfig({ ...Deno.env.toObject(), ...overrides });
}

/** Returns the environment of a worker: this process's own with its index and the shared ports. */
export function workerEnvironment(
  { index, greets }: WorkerConfig,
  ports: Readonly<Record<string, number>>,
): Record<string, string> {
  const { NOTIFY_SOCKET: _socket, ...own } = Deno.env.toObject();
  const shared = Object.entries(ports).map(([name, port]) => [name, String(port)]);
  return {
    ...own,
    ...Object.fromEntries(shared),
    DENO: Deno.execPath(),
    DEMETER_WORKER: greets ? `${index} greets` : String(index),
  };
}

/** Parses an environment; a `ConfigError` names the variable, its value and what it accepts. */
export function parseConfig(environment: Environment): Config {
  const read = new EnvironmentReader(environment);
  const oauth = oauthSettings(read);
  const workers = read.integer("WORKERS", { min: 1, max: 64 }) ?? 1;
  const config: Config = {
    host: read.host("HOST") ?? "127.0.0.1",
    port: read.integer("PORT", { min: 0, max: 65535 }) ?? 8787,
    baseUrl: publicUrl(read),
    dataDir: read.text("DATA_DIR") ?? defaultDataDir(),
    databaseUrl: read.databaseUrl("DATABASE_URL"),
    analyticsDatabaseUrl: read.databaseUrl("ANALYTICS_DATABASE_URL"),
    masterKey: read.masterKey("MASTER_KEY"),
    vendors: vendorSettings(read),
    vendorsFile: read.text("VENDORS_FILE"),
    pricesFile: read.text("PRICES_FILE"),
    modelsFile: read.text("MODELS_FILE"),
    startingCreditNanos: read.usd("STARTING_CREDIT_USD") ?? 10_000_000_000n,
    tls: tlsSettings(read),
    trustProxy: read.flag("TRUST_PROXY") ?? false,
    allowPlainHttp: read.flag("ALLOW_PLAIN_HTTP") ?? false,
    corsOrigins: read.origins("CORS_ORIGINS"),
    oauth,
    localSignIn: read.flag("LOCAL_SIGN_IN") ?? oauth === undefined,
    exportBucket: bucketSettings(read),
    retentionPayloadDays: read.integer("RETENTION_PAYLOAD_DAYS", { min: 1, max: 36_500 }),
    retentionUsageDays: read.integer("RETENTION_USAGE_DAYS", { min: 1, max: 36_500 }),
    maxBodyBytes: read.bytes("MAX_BODY_BYTES") ?? 32 * 1024 * 1024,
    callsInFlightMax: read.integer("CALLS_IN_FLIGHT_MAX", { min: 16, max: 65_536 }) ?? 4096,
    bodiesInFlightBytes: read.bytes("BODIES_IN_FLIGHT_BYTES") ?? 24 * 1024 * 1024,
    payloadMaxBytes: read.bytes("PAYLOAD_MAX_BYTES") ?? 1024 * 1024,
    mediaInlineBytes: read.bytes("MEDIA_INLINE_BYTES") ?? 64 * 1024,
    journalMaxBytes: journalLimit(read, workers),
    ...timeouts(read),
    streamsPerAccountMax: read.integer("STREAMS_PER_ACCOUNT_MAX", { min: 1, max: 1_000_000 }) ??
      1_000,
    backgroundPerAccountMax: read.integer("BACKGROUND_CALLS_PER_ACCOUNT_MAX", {
      ...{ min: 1, max: 100_000 },
    }) ?? 100,
    storedBytesPerDay: read.bytes("STORED_BYTES_PER_DAY") ?? 10 * 1024 ** 3,
    journalSync: read.oneOf("JOURNAL_SYNC", ["always", "interval"]) ?? "always",
    responsesWebSocket: read.flag("RESPONSES_WEBSOCKET") ?? true,
    connectionsMax: read.integer("CONNECTIONS_MAX", { min: 1, max: 1_000_000 }) ?? 8192,
    connectionsPerPeerMax: read.integer("CONNECTIONS_PER_PEER_MAX", { min: 1, max: 1_000_000 }) ??
      2048,
    telemetry: telemetrySettings(read),
    logFormat: read.oneOf("LOG_FORMAT", ["text", "json"]) ?? "text",
    notifySocket: read.text("NOTIFY_SOCKET"),
    workers,
    program: programOf(read),
    worker: workerSettings(read),
    leaseSeconds: read.integer("LEASE_SECONDS", { min: 5, max: 86_400 }) ?? 150,
    metricsToken: read.token("METRICS_TOKEN"),
    fetchAllowHosts: read.hosts("FETCH_ALLOW_HOSTS"),
    secretFrom: (name) => read.headerSecret(name),
    unknownVariables: () => read.unknown(),
  };
  refuseBarePlainHttp(config);
  refuseEmbeddedWorkers(config);
  return config;
}

type Timeouts = Pick<Config, Extract<keyof Config, `${string}TimeoutMs`> | "keepAliveMs">;

function timeouts(read: EnvironmentReader): Timeouts {
  return {
    connectTimeoutMs: read.milliseconds("CONNECT_TIMEOUT_MS") ?? 5_000,
    firstByteTimeoutMs: read.milliseconds("FIRST_BYTE_TIMEOUT_MS") ?? 600_000,
    idleTimeoutMs: read.milliseconds("IDLE_TIMEOUT_MS") ?? 300_000,
    callerUnreadTimeoutMs: read.milliseconds("IDLE_TIMEOUT_MS") ?? 60_000,
    keepAliveMs: read.milliseconds("KEEP_ALIVE_MS") ?? 15_000,
    backgroundTimeoutMs: read.integer("BACKGROUND_CALL_TIMEOUT_MS", {
      ...{ min: 1_000, max: 12 * 60 * 60_000 },
    }) ?? 60 * 60_000,
    callerHeadTimeoutMs: read.milliseconds("CALLER_HEAD_TIMEOUT_MS") ?? 15_000,
    callerBodyTimeoutMs: read.milliseconds("CALLER_BODY_TIMEOUT_MS") ?? 30_000,
    callerIdleTimeoutMs: read.milliseconds("CALLER_IDLE_TIMEOUT_MS") ?? 75_000,
  };
}

/** Reads `JOURNAL_MAX_BYTES`, which is divided among the workers: each share must be enough for one. */
function journalLimit(read: EnvironmentReader, workers: number): number {
  const range = { min: workers * 2 ** 16, max: 2 ** 50 };
  return read.integer("JOURNAL_MAX_BYTES", range) ?? 4 * 1024 ** 3;
}

/** Reads `BASE_URL`. The dashboard's pages and cookies are at the root, so it has no path. */
function publicUrl(read: EnvironmentReader): string | undefined {
  const url = read.baseUrl("BASE_URL");
  if (url === undefined || new URL(url).pathname === "/") return url;
  throw new ConfigError(
    `BASE_URL=${url} is not valid: expected a URL without a path, such as https://gateway.example.com.`,
  );
}

/** Returns what people type to run this program; for help, which reads no settings. */
export function readProgram(): string {
  return programOf(new EnvironmentReader(Deno.env.toObject()));
}

/**
 * Returns what people type to run this program. The `demeter` launchers pass on how they were
 * called (`DEMETER_COMMAND`); people who run Deno with npx have no `deno` command.
 */
function programOf(read: EnvironmentReader): string {
  const isByNpx = read.text("npm_command") === "exec";
  const source = isByNpx ? `npx --yes deno@${Deno.version.deno} task` : "deno task";
  const packaged = Deno.build.standalone ? Deno.execPath() : "demeter";
  return read.textAsIs("DEMETER_COMMAND") ?? (programForm === "source" ? source : packaged);
}

/** Returns what an operator types before a command, so that it finds this configuration's data. */
export function adminCommandOf({ program, dataDir }: Pick<Config, "program" | "dataDir">): string {
  const admin = `${program} admin`;
  return dataDir === defaultDataDir() ? admin : `DATA_DIR=${shellWord(dataDir)} ${admin}`;
}

/** The same without paths, for readers who must not learn where the service's files are. */
export function pathlessAdminCommand({ program }: Pick<Config, "program">): string {
  // A launcher quotes a path with spaces.
  const texts = program.startsWith("'") ? [program.slice(1, -1)] : program.split(" ");
  const shown = texts.map((text) => text.startsWith("/") ? basename(text) : text);
  return `${shown.join(" ")} admin`;
}

/** Returns the default `DATA_DIR`: beside a compiled program, else in the working directory. */
export function defaultDataDir(
  isCompiled = Deno.build.standalone,
  program = () => Deno.execPath(),
): string {
  return isCompiled ? join(dirname(program()), "data") : "./data";
}

/** Whether only this machine can reach a host. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(host);
}

/** Throws a `ConfigError` if keys would cross a network unencrypted. */
function refuseBarePlainHttp(config: Config): void {
  if (config.tls || config.trustProxy || config.allowPlainHttp || isLoopback(config.host)) return;
  throw new ConfigError(
    `HOST=${config.host} would serve plain HTTP beyond this machine: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY=true behind a proxy that terminates TLS, or ALLOW_PLAIN_HTTP=true to accept the risk.`,
  );
}

/** Throws a `ConfigError` for workers on the embedded database, which belongs to one process. */
function refuseEmbeddedWorkers({ workers, databaseUrl }: Config): void {
  if (workers === 1 || databaseUrl !== undefined) return;
  throw new ConfigError(
    `WORKERS=${workers} needs PostgreSQL, since the embedded database can be used by one process only: set DATABASE_URL, or unset WORKERS.`,
  );
}

function workerSettings(read: EnvironmentReader): WorkerConfig | undefined {
  const [index, greets] = read.text("DEMETER_WORKER")?.split(" ") ?? [];
  return index === undefined ? undefined : { index: Number(index), greets: greets === "greets" };
}

/** Key variables that the vendors' own client libraries read; our own variables take precedence. */
export const usualKeyVariables: Readonly<Record<string, readonly string[]>> = {
  "vendor-a": ["HUGGINGFACE_API_KEY"],
  "vendor-b": ["OPENAI_API_KEY"],
  "vendor-c": ["ANTHROPIC_API_KEY"],
  "vendor-d": ["GEMINI_API_KEY"],
  "vendor-f": ["OPENROUTER_API_KEY"],
  "vendor-g": ["XAI_API_KEY"],
};

function vendorSettings(read: EnvironmentReader): Config["vendors"] {
  return Object.fromEntries(vendorFamilies.map(({ label }) => {
    const name = label.toUpperCase().replace("-", "_");
    const variables = [`${name}_API_KEY`, ...usualKeyVariables[label] ?? []];
    const keys = variables.map((variable) => read.headerSecret(variable));
    const at = keys.findIndex((key) => key !== undefined);
    return [label, {
      baseUrl: read.baseUrl(`${name}_BASE_URL`),
      apiKey: keys[at],
      ...(at < 0 ? {} : { keyVariable: variables[at]! }),
    }];
  }));
}

function tlsSettings(read: EnvironmentReader): Config["tls"] {
  const certFile = read.file("TLS_CERT_FILE");
  const keyFile = read.file("TLS_KEY_FILE");
  const httpPort = read.integer("HTTP_PORT", { min: 0, max: 65535 });
  if (certFile === undefined && keyFile === undefined) {
    if (httpPort !== undefined) {
      throw new ConfigError(
        `HTTP_PORT=${httpPort} needs an HTTPS listener to redirect to: set TLS_CERT_FILE and TLS_KEY_FILE, or unset HTTP_PORT.`,
      );
    }
    return undefined;
  }
  const why = "TLS needs a certificate and its key: set both";
  return {
    certFile: needed("TLS_CERT_FILE", certFile, why),
    keyFile: needed("TLS_KEY_FILE", keyFile, why),
    httpPort,
  };
}

function oauthSettings(read: EnvironmentReader): OAuthConfig | undefined {
  const issuer = read.url("OAUTH_ISSUER");
  const authorizeUrl = read.url("OAUTH_AUTHORIZE_URL");
  const tokenUrl = read.url("OAUTH_TOKEN_URL");
  const userinfoUrl = read.url("OAUTH_USERINFO_URL");
  const clientId = read.text("OAUTH_CLIENT_ID");
  const clientSecret = read.secret("OAUTH_CLIENT_SECRET");
  const scopes = read.text("OAUTH_SCOPES");
  const emailDomains = read.domains("OAUTH_EMAIL_DOMAINS");
  const roles = [read.text("OAUTH_ROLE_CLAIM"), read.text("OAUTH_ROLE_MAP")];
  const plain = [authorizeUrl, tokenUrl, userinfoUrl];
  const all = [issuer, clientId, clientSecret, scopes, emailDomains[0], ...roles, ...plain];
  if (all.every((one) => one === undefined)) return undefined;
  for (
    const [name, url] of Object.entries({
      OAUTH_ISSUER: issuer,
      OAUTH_AUTHORIZE_URL: authorizeUrl,
      OAUTH_TOKEN_URL: tokenUrl,
      OAUTH_USERINFO_URL: userinfoUrl,
    })
  ) {
    if (url !== undefined && url.startsWith("http:") && !isLoopback(new URL(url).hostname)) {
      throw new ConfigError(
        `${name}=${url} is not valid: expected an https URL (http only on loopback).`,
      );
    }
  }
  if (issuer === undefined && plain.some((one) => one === undefined)) {
    throw new ConfigError(
      "OAUTH_ISSUER is missing: sign-in needs an OpenID issuer, or all three of OAUTH_AUTHORIZE_URL, OAUTH_TOKEN_URL and OAUTH_USERINFO_URL.",
    );
  }
  return {
    clientId: needed("OAUTH_CLIENT_ID", clientId, "sign-in needs it"),
    clientSecret: needed("OAUTH_CLIENT_SECRET", clientSecret, "sign-in needs it"),
    issuer,
    authorizeUrl,
    tokenUrl,
    userinfoUrl,
    scopes,
    emailDomains,
    roles: roleSettings(read),
  };
}

function roleSettings(read: EnvironmentReader): RoleSettings | undefined {
  const named = read.text("OAUTH_ROLE_CLAIM");
  const listed = read.list("OAUTH_ROLE_MAP");
  if (named === undefined && listed.length === 0) return undefined;
  const why = "roles need the claim with a person's groups and the role of each group: set both";
  const claim = needed("OAUTH_ROLE_CLAIM", named, why);
  needed("OAUTH_ROLE_MAP", listed[0], why);
  const byGroup = new Map<string, Role>();
  for (const one of listed) {
    const at = one.lastIndexOf("=");
    const group = one.slice(0, Math.max(0, at)).trim();
    const role = roles.find((each) => each === one.slice(at + 1).trim());
    if (group === "" || role === undefined || byGroup.has(group)) {
      throw new ConfigError(
        `OAUTH_ROLE_MAP=${one} is not valid: expected pairs such as gateway-admins=owner, separated by commas, each group once, with a role of ${
          roles.join(", ")
        }.`,
      );
    }
    byGroup.set(group, role);
  }
  return { claim, byGroup };
}

function bucketSettings(read: EnvironmentReader): BucketSettings | undefined {
  const endpoint = read.url("S3_ENDPOINT");
  const url = read.text("EXPORT_BUCKET_URL");
  if (url === undefined) return undefined;
  const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(url);
  if (!match) {
    const shown = url.includes("@") ? "****" : url;
    throw new ConfigError(
      `EXPORT_BUCKET_URL=${shown} is not valid: expected s3://bucket/prefix, with 3 to 63 lower-case letters, digits, dots and hyphens as the bucket's name.`,
    );
  }
  const secret = (name: string) => needed(name, read.secret(name), "EXPORT_BUCKET_URL needs it");
  return {
    bucket: match[1]!,
    prefix: withoutEnd(match[2] ?? "", "/"),
    endpoint,
    region: read.text("AWS_REGION") ?? "us-east-1",
    accessKeyId: secret("AWS_ACCESS_KEY_ID"),
    secretAccessKey: secret("AWS_SECRET_ACCESS_KEY"),
  };
}

/** Throws a `ConfigError` for a variable that another one needs. */
function needed<T>(variable: string, value: T | undefined, why: string): T {
  if (value !== undefined) return value;
  throw new ConfigError(`${variable} is missing: ${why}.`);
}
