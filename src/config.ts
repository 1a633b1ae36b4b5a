import { vendorFamilies } from "../contracts/vendors.ts";
import { Secret } from "./base/secret.ts";

/** What the environment says (interface.md §2), parsed and checked. */
export interface Config {
  host: string;
  port: number;
  baseUrl: string | undefined;
  dataDir: string;
  databaseUrl: Secret | undefined;
  analyticsDatabaseUrl: Secret | undefined;
  masterKey: Secret | undefined;
  /** Label → what the environment overrides of that vendor. */
  vendors: Readonly<Record<string, { baseUrl: string | undefined; apiKey: Secret | undefined }>>;
  vendorsFile: string | undefined;
  pricesFile: string | undefined;
  /** Nano-dollars. */
  startingCreditNanos: bigint;
  tls: { certFile: string; keyFile: string; httpPort: number | undefined } | undefined;
  trustProxy: boolean;
  allowPlainHttp: boolean;
  corsOrigins: readonly string[];
  oauth: OAuthConfig | undefined;
  exportBucket: ExportBucketConfig | undefined;
  retentionPayloadDays: number | undefined;
  retentionUsageDays: number | undefined;
  maxBodyBytes: number;
  payloadMaxBytes: number;
  mediaInlineBytes: number;
  journalMaxBytes: number;
  connectTimeoutMs: number;
  firstByteTimeoutMs: number;
  idleTimeoutMs: number;
  journalSync: "always" | "interval";
  leaseSeconds: number;
  metricsToken: Secret | undefined;
  fetchAllowHosts: readonly string[];
  /** Value of an environment variable that a vendor row names; undefined when it is not set. */
  secretFrom(name: string): Secret | undefined;
}

export interface OAuthConfig {
  clientId: string;
  clientSecret: Secret;
  issuer: string | undefined;
  authorizeUrl: string | undefined;
  tokenUrl: string | undefined;
  userinfoUrl: string | undefined;
}

export interface ExportBucketConfig {
  bucket: string;
  prefix: string;
  endpoint: string | undefined;
  region: string;
  accessKeyId: Secret;
  secretAccessKey: Secret;
}

/** A wrong value in the environment; the message is one line for the operator. */
export class ConfigError extends Error {
  override name = "ConfigError";

  constructor(message: string) {
    // A value may hold line breaks of its own.
    super(message.replace(/[\r\n]+/g, " "));
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the process's environment, the only place that does; `overrides` come before it. */
export function readConfig(overrides: Environment = {}): Config {
  return parseConfig({ ...Deno.env.toObject(), ...overrides });
}

/** Parses an environment; throws `ConfigError` naming the variable, its value and what it takes. */
export function parseConfig(environment: Environment): Config {
  const read = reader(environment);
  const config: Config = {
    host: read.text("HOST") ?? "127.0.0.1",
    port: read.integer("PORT", { min: 0, max: 65535 }) ?? 8787,
    baseUrl: read.url("BASE_URL", ["http:", "https:"]),
    dataDir: read.text("DATA_DIR") ?? "./data",
    databaseUrl: read.databaseUrl("DATABASE_URL"),
    analyticsDatabaseUrl: read.databaseUrl("ANALYTICS_DATABASE_URL"),
    masterKey: read.masterKey("MASTER_KEY"),
    vendors: vendorSettings(read),
    vendorsFile: read.text("VENDORS_FILE"),
    pricesFile: read.text("PRICES_FILE"),
    startingCreditNanos: read.usd("STARTING_CREDIT_USD") ?? 10_000_000_000n,
    tls: tlsSettings(read),
    trustProxy: read.flag("TRUST_PROXY") ?? false,
    allowPlainHttp: read.flag("ALLOW_PLAIN_HTTP") ?? false,
    corsOrigins: read.origins("CORS_ORIGINS"),
    oauth: oauthSettings(read),
    exportBucket: bucketSettings(read),
    retentionPayloadDays: read.integer("RETENTION_PAYLOAD_DAYS", { min: 1, max: 36_500 }),
    retentionUsageDays: read.integer("RETENTION_USAGE_DAYS", { min: 1, max: 36_500 }),
    maxBodyBytes: read.bytes("MAX_BODY_BYTES") ?? 32 * 1024 * 1024,
    payloadMaxBytes: read.bytes("PAYLOAD_MAX_BYTES") ?? 1024 * 1024,
    mediaInlineBytes: read.bytes("MEDIA_INLINE_BYTES") ?? 64 * 1024,
    journalMaxBytes: read.bytes("JOURNAL_MAX_BYTES") ?? 4 * 1024 ** 3,
    connectTimeoutMs: read.milliseconds("CONNECT_TIMEOUT_MS") ?? 5_000,
    firstByteTimeoutMs: read.milliseconds("FIRST_BYTE_TIMEOUT_MS") ?? 120_000,
    idleTimeoutMs: read.milliseconds("IDLE_TIMEOUT_MS") ?? 60_000,
    journalSync: read.oneOf("JOURNAL_SYNC", ["always", "interval"]) ?? "always",
    leaseSeconds: read.integer("LEASE_SECONDS", { min: 5, max: 86_400 }) ?? 150,
    metricsToken: read.secret("METRICS_TOKEN"),
    fetchAllowHosts: read.hosts("FETCH_ALLOW_HOSTS"),
    secretFrom: (name) => read.headerSecret(name),
  };
  refuseBarePlainHttp(config);
  return config;
}

/** True for hosts that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(host);
}

/** Keys must not cross a network in the clear (spec.md, Credentials 5). */
function refuseBarePlainHttp(config: Config): void {
  if (config.tls || config.trustProxy || config.allowPlainHttp || isLoopback(config.host)) return;
  throw new ConfigError(
    `HOST=${config.host} would serve plain HTTP beyond this machine: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY=true behind a proxy that ends TLS, or ALLOW_PLAIN_HTTP=true to accept the risk.`,
  );
}

function vendorSettings(read: Reader): Config["vendors"] {
  return Object.fromEntries(vendorFamilies.map(({ label }) => {
    const name = label.toUpperCase().replace("-", "_");
    return [label, {
      baseUrl: read.url(`${name}_BASE_URL`, ["http:", "https:"])?.replace(/\/+$/, ""),
      apiKey: read.headerSecret(`${name}_API_KEY`),
    }];
  }));
}

function tlsSettings(read: Reader): Config["tls"] {
  const certFile = read.file("TLS_CERT_FILE");
  const keyFile = read.file("TLS_KEY_FILE");
  const httpPort = read.integer("HTTP_PORT", { min: 0, max: 65535 });
  if (certFile === undefined && keyFile === undefined) {
    if (httpPort !== undefined) {
      throw new ConfigError(
        `HTTP_PORT=${httpPort} needs an HTTPS listener to send callers to: set TLS_CERT_FILE and TLS_KEY_FILE, or leave HTTP_PORT out.`,
      );
    }
    return undefined;
  }
  if (certFile === undefined || keyFile === undefined) {
    const missing = certFile === undefined ? "TLS_CERT_FILE" : "TLS_KEY_FILE";
    throw new ConfigError(`${missing} is missing: TLS takes a certificate and its key, set both.`);
  }
  return { certFile, keyFile, httpPort };
}

function oauthSettings(read: Reader): OAuthConfig | undefined {
  const issuer = read.url("OAUTH_ISSUER", ["http:", "https:"]);
  const authorizeUrl = read.url("OAUTH_AUTHORIZE_URL", ["http:", "https:"]);
  const tokenUrl = read.url("OAUTH_TOKEN_URL", ["http:", "https:"]);
  const userinfoUrl = read.url("OAUTH_USERINFO_URL", ["http:", "https:"]);
  const clientId = read.text("OAUTH_CLIENT_ID");
  const clientSecret = read.secret("OAUTH_CLIENT_SECRET");
  const plain = [authorizeUrl, tokenUrl, userinfoUrl];
  if ([issuer, clientId, clientSecret, ...plain].every((one) => one === undefined)) {
    return undefined;
  }
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
        `${name}=${url} is not valid: expected an https address (http only on loopback).`,
      );
    }
  }
  if (issuer === undefined && plain.some((one) => one === undefined)) {
    throw new ConfigError(
      "OAUTH_ISSUER is missing: sign-in takes an OpenID issuer, or all three of OAUTH_AUTHORIZE_URL, OAUTH_TOKEN_URL and OAUTH_USERINFO_URL.",
    );
  }
  if (clientId === undefined) {
    throw new ConfigError("OAUTH_CLIENT_ID is missing: sign-in needs it.");
  }
  if (clientSecret === undefined) {
    throw new ConfigError("OAUTH_CLIENT_SECRET is missing: sign-in needs it.");
  }
  return { clientId, clientSecret, issuer, authorizeUrl, tokenUrl, userinfoUrl };
}

function bucketSettings(read: Reader): ExportBucketConfig | undefined {
  const endpoint = read.url("S3_ENDPOINT", ["http:", "https:"]);
  const url = read.text("EXPORT_BUCKET_URL");
  if (url === undefined) return undefined;
  const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(url);
  if (!match) {
    const shown = url.includes("@") ? "****" : url;
    throw new ConfigError(`EXPORT_BUCKET_URL=${shown} is not valid: expected s3://bucket/prefix.`);
  }
  const accessKeyId = read.secret("AWS_ACCESS_KEY_ID");
  const secretAccessKey = read.secret("AWS_SECRET_ACCESS_KEY");
  if (!accessKeyId || !secretAccessKey) {
    const missing = accessKeyId ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID";
    throw new ConfigError(`${missing} is missing: EXPORT_BUCKET_URL needs it.`);
  }
  return {
    bucket: match[1]!,
    prefix: (match[2] ?? "").replace(/\/+$/, ""),
    endpoint,
    region: read.text("AWS_REGION") ?? "us-east-1",
    accessKeyId,
    secretAccessKey,
  };
}

type Reader = ReturnType<typeof reader>;

/** One parser per kind of value; an empty value counts as not set. */
function reader(environment: Environment) {
  const text = (name: string) => environment[name]?.trim() || undefined;
  const wrong = (name: string, shown: string, expected: string) =>
    new ConfigError(`${name}=${shown} is not valid: expected ${expected}.`);
  const integer = (name: string, range: { min: number; max: number }) => {
    const value = text(name);
    if (value === undefined) return undefined;
    const number = /^\d{1,16}$/.test(value) ? Number(value) : NaN;
    if (!(number >= range.min && number <= range.max)) {
      throw wrong(name, value, `a whole number from ${range.min} to ${range.max}`);
    }
    return number;
  };
  const list = (name: string) =>
    (text(name) ?? "").split(",").map((one) => one.trim()).filter((one) => one !== "");
  return {
    text,
    integer,
    bytes: (name: string) => integer(name, { min: 1, max: 2 ** 50 }),
    milliseconds: (name: string) => integer(name, { min: 1, max: 3_600_000 }),
    secret: (name: string) => {
      const value = text(name);
      return value === undefined ? undefined : new Secret(value);
    },
    headerSecret: (name: string) => {
      const value = text(name);
      if (value === undefined) return undefined;
      if (!/^[\x21-\x7e]+$/.test(value)) {
        throw wrong(name, "****", "a key of printable ASCII characters without spaces");
      }
      return new Secret(value);
    },
    flag: (name: string) => {
      const value = text(name)?.toLowerCase();
      if (value === undefined) return undefined;
      if (value === "true" || value === "1") return true;
      if (value === "false" || value === "0") return false;
      throw wrong(name, value, "true or false");
    },
    oneOf: <T extends string>(name: string, values: readonly T[]) => {
      const value = text(name);
      if (value === undefined) return undefined;
      const found = values.find((one) => one === value);
      if (found === undefined) throw wrong(name, value, values.join(" or "));
      return found;
    },
    url: (name: string, protocols: readonly string[]) => {
      const value = text(name);
      if (value === undefined) return undefined;
      const url = URL.canParse(value) ? new URL(value) : undefined;
      if (!url || !protocols.includes(url.protocol) || url.username || url.password) {
        const shown = value.includes("@") ? "****" : value;
        throw wrong(name, shown, "an address such as https://api.example.com, without credentials");
      }
      return value.replace(/\/+$/, "");
    },
    origins: (name: string) =>
      list(name).map((one) => {
        if (!URL.canParse(one) || new URL(one).origin !== one) {
          throw wrong(name, one, "origins such as https://app.example.com, separated by commas");
        }
        return one;
      }),
    hosts: (name: string) =>
      list(name).map((one) => {
        if (!/^[\w.:[\]-]+$/.test(one)) {
          throw wrong(name, one, "host names such as files.internal, separated by commas");
        }
        return one;
      }),
    usd: (name: string) => {
      const value = text(name);
      if (value === undefined) return undefined;
      const match = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(value);
      if (!match) throw wrong(name, value, "an amount in US dollars such as 10 or 2.50");
      return BigInt(match[1]!) * 1_000_000_000n + BigInt((match[2] ?? "").padEnd(9, "0"));
    },
    databaseUrl: (name: string) => {
      const value = text(name);
      if (value === undefined) return undefined;
      if (!URL.canParse(value) || !/^postgres(ql)?:$/.test(new URL(value).protocol)) {
        throw wrong(name, "****", "an address such as postgres://user:password@host:5432/database");
      }
      return new Secret(value);
    },
    masterKey: (name: string) => {
      const value = text(name);
      if (value === undefined) return undefined;
      if (!/^[A-Za-z0-9+/]{43}=$/.test(value)) {
        throw wrong(name, "****", "32 bytes in base64 (44 characters)");
      }
      return new Secret(value);
    },
    file: (name: string) => {
      const path = text(name);
      if (path === undefined) return undefined;
      try {
        if (Deno.statSync(path).isFile) return path;
      } catch {
        // Falls through to the same sentence: it can't be read as a file.
      }
      throw wrong(name, path, "a file that can be read");
    },
  };
}
