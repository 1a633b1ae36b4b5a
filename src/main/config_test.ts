import assert from "@std/assert";
import {
  adminCommandOf,
  type Config,
  ConfigError,
  defaultDataDir,
  isLoopback,
  parseConfig,
  pathlessAdminCommand,
} from "./config.ts";
import type { Secret } from "../base/secret.ts";
import { shareOf } from "./worker_services.ts";

/** A file that exists on every machine that runs this test: the test itself. */
const anyFile = decodeURIComponent(new URL(import.meta.url).pathname);
const postgres = "postgres://gateway:hunter2@db:5432/gateway";
const bucket = {
  EXPORT_BUCKET_URL: "s3://exports/team",
  AWS_ACCESS_KEY_ID: "AKIA1",
  AWS_SECRET_ACCESS_KEY: "hush",
};
const signIn = {
  OAUTH_ISSUER: "https://id.example.com",
  OAUTH_CLIENT_ID: "gateway",
  OAUTH_CLIENT_SECRET: "hush",
};

function refusal(environment: Record<string, string>): ConfigError {
  try {
    parseConfig(environment);
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    return thrown;
  }
  throw new Error(`accepted ${JSON.stringify(environment)}`);
}

/** The sentence of the pattern is checked: `NAME=value is not valid: expected …`. */
interface Wrong {
  set: Record<string, string>;
  says: RegExp;
}

const wholeNumbers: Wrong[] = [
  { set: { PORT: "80a" }, says: /^PORT=80a is not valid: expected a whole number from 0 to 65535/ },
  { set: { PORT: "65536" }, says: /^PORT=65536 .*from 0 to 65535/ },
  { set: { PORT: "-1" }, says: /^PORT=-1 / },
  { set: { PORT: "1e3" }, says: /^PORT=1e3 / },
  ...["RETENTION_PAYLOAD_DAYS", "RETENTION_USAGE_DAYS"].map((name) => (
    { set: { [name]: "0" }, says: new RegExp(`^${name}=0 .*from 1 to 36500`) }
  )),
  ...["MAX_BODY_BYTES", "PAYLOAD_MAX_BYTES", "MEDIA_INLINE_BYTES", "JOURNAL_MAX_BYTES"].map(
    (name) => ({ set: { [name]: "32MiB" }, says: new RegExp(`^${name}=32MiB .*whole number`) }),
  ),
  ...["CONNECT_TIMEOUT_MS", "FIRST_BYTE_TIMEOUT_MS", "IDLE_TIMEOUT_MS", "KEEP_ALIVE_MS"].map(
    (name) => ({ set: { [name]: "0" }, says: new RegExp(`^${name}=0 .*from 1 to 3600000`) }),
  ),
  ...["CALLER_HEAD_TIMEOUT_MS", "CALLER_BODY_TIMEOUT_MS", "CALLER_IDLE_TIMEOUT_MS"].map(
    (name) => ({ set: { [name]: "0" }, says: new RegExp(`^${name}=0 .*from 1 to 3600000`) }),
  ),
  ...["CONNECTIONS_MAX", "CONNECTIONS_PER_PEER_MAX"].map(
    (name) => ({ set: { [name]: "0" }, says: new RegExp(`^${name}=0 .*from 1 to 1000000`) }),
  ),
  {
    set: { ...signIn, OAUTH_ROLE_CLAIM: "groups" },
    says: /^OAUTH_ROLE_MAP is missing: .*set both\.$/,
  },
  { set: { ...signIn, OAUTH_ROLE_MAP: "a=owner" }, says: /^OAUTH_ROLE_CLAIM is missing: / },
  ...["a", "a=admin", "=owner", "a=owner,a=viewer", "a="].map((map) => ({
    set: { ...signIn, OAUTH_ROLE_CLAIM: "groups", OAUTH_ROLE_MAP: map },
    says: /^OAUTH_ROLE_MAP=\S+ is not valid: expected pairs such as .* owner, member, viewer\.$/,
  })),
  {
    set: { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
    says: /^OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318 is not valid: expected a URL/,
  },
  {
    set: { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    says: /^OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not valid: expected http\/protobuf or http\/json/,
  },
  {
    set: { OTEL_EXPORTER_OTLP_HEADERS: "secret-without-a-name" },
    says: /^OTEL_EXPORTER_OTLP_HEADERS=\*\*\*\* is not valid: expected pairs such as name=value/,
  },
  {
    set: { OTEL_METRICS_EXPORTER: "prometheus" },
    says: /^OTEL_METRICS_EXPORTER=prometheus is not valid: expected otlp or none/,
  },
  { set: { OTEL_METRIC_EXPORT_INTERVAL: "0" }, says: /^OTEL_METRIC_EXPORT_INTERVAL=0 .*from 1 to/ },
  {
    set: { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "span_only" },
    says: /^OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only .*expected true or false/,
  },
  {
    set: { METRICS_TOKEN: "schlüssel" },
    says: /^METRICS_TOKEN=\*+ is not valid: expected printable ASCII characters without spaces/,
  },
  { set: { LOG_FORMAT: "yaml" }, says: /^LOG_FORMAT=yaml is not valid: expected text or json/ },
  {
    set: { DATABASE_URL: "postgres://gateway:secret@first,second/gateway" },
    says: /^DATABASE_URL=\*+ is not valid: .*, with one host/,
  },
  { set: { JOURNAL_MAX_BYTES: "4" }, says: /^JOURNAL_MAX_BYTES=4 .*from 65536 to/ },
  {
    set: {
      JOURNAL_MAX_BYTES: "131071",
      WORKERS: "2",
      DATABASE_URL: "postgres://localhost/gateway",
    },
    says: /^JOURNAL_MAX_BYTES=131071 .*from 131072 to/,
  },
  { set: { LEASE_SECONDS: "4" }, says: /^LEASE_SECONDS=4 .*from 5 to 86400/ },
  {
    set: { HTTP_PORT: "99999", TLS_CERT_FILE: anyFile, TLS_KEY_FILE: anyFile },
    says: /^HTTP_PORT=99999 .*from 0 to 65535/,
  },
];

const words: Wrong[] = [
  { set: { TRUST_PROXY: "yes" }, says: /^TRUST_PROXY=yes is not valid: expected true or false/ },
  {
    set: { RESPONSES_WEBSOCKET: "maybe" },
    says: /^RESPONSES_WEBSOCKET=maybe .*expected true or false/,
  },
  { set: { ALLOW_PLAIN_HTTP: "on" }, says: /^ALLOW_PLAIN_HTTP=on .*expected true or false/ },
  { set: { JOURNAL_SYNC: "never" }, says: /^JOURNAL_SYNC=never .*expected always or interval/ },
  { set: { STARTING_CREDIT_USD: "-1" }, says: /^STARTING_CREDIT_USD=-1 .*US dollars/ },
  { set: { STARTING_CREDIT_USD: "1e3" }, says: /^STARTING_CREDIT_USD=1e3 .*such as 2\.50/ },
  { set: { STARTING_CREDIT_USD: "1000000000.1" }, says: /, at most 1000000000/ },
  { set: { STARTING_CREDIT_USD: "0.0000000001" }, says: /^STARTING_CREDIT_USD=0\.0000000001 / },
  { set: { CORS_ORIGINS: "https://a.example.com,*" }, says: /^CORS_ORIGINS=\* .*origins such as/ },
  { set: { CORS_ORIGINS: "https://a.example.com/" }, says: /^CORS_ORIGINS=https:\/\/a\.exam/ },
  {
    set: { FETCH_ALLOW_HOSTS: "https://files.internal/x" },
    says: /^FETCH_ALLOW_HOSTS=https:\/\/files\.internal\/x .*host names/,
  },
  {
    set: { FETCH_ALLOW_HOSTS: "files.internal,files.internal:99999" },
    says: /^FETCH_ALLOW_HOSTS=files\.internal:99999 .*host names/,
  },
  {
    set: { FETCH_ALLOW_HOSTS: "*.internal" },
    says: /^FETCH_ALLOW_HOSTS=\*\.internal .*host names/,
  },
  { set: { FETCH_ALLOW_HOSTS: "[::1" }, says: /^FETCH_ALLOW_HOSTS=\[::1 .*host names/ },
  {
    set: { ...signIn, OAUTH_EMAIL_DOMAINS: "example.com:443" },
    says: /^OAUTH_EMAIL_DOMAINS=example\.com:443 .*domains such as/,
  },
];

const addresses: Wrong[] = [
  {
    set: { BASE_URL: "https://example.com/gateway" },
    says: /^BASE_URL=https:\/\/example\.com\/gateway is not valid: expected a URL without a path/,
  },
  {
    set: { BASE_URL: "gateway.example.com" },
    says: /^BASE_URL=gateway\.example\.com .*a URL/,
  },
  { set: { BASE_URL: "ftp://example.com" }, says: /^BASE_URL=ftp:\/\/example\.com / },
  // A path is appended to these, so that it would stand in the query.
  ...["BASE_URL", "VENDOR_B_BASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"].flatMap((name): Wrong[] =>
    ["https://api.example.com/v1?version=1", "https://api.example.com/v1#x"].map((url) => ({
      set: { [name]: url },
      says: new RegExp(`^${name}=\\S+ is not valid: .* without credentials, query or fragment`),
    }))
  ),
  ...["A", "B", "C", "D", "E", "F", "G"].map((letter) => ({
    set: { [`VENDOR_${letter}_BASE_URL`]: "nowhere" },
    says: new RegExp(`^VENDOR_${letter}_BASE_URL=nowhere .*expected a URL such as https`),
  })),
  ...["OAUTH_ISSUER", "OAUTH_AUTHORIZE_URL", "OAUTH_TOKEN_URL", "OAUTH_USERINFO_URL"].flatMap(
    (name): Wrong[] => [
      { set: { ...signIn, [name]: "id" }, says: new RegExp(`^${name}=id .*a URL`) },
      {
        set: { ...signIn, [name]: "http://id.example.com" },
        says: new RegExp(`^${name}=http://id\\.example\\.com .*https URL`),
      },
      {
        set: { ...signIn, [name]: "http://127.0.0.1.example.com" },
        says: new RegExp(`^${name}=http://127\\.0\\.0\\.1\\.example\\.com .*https URL`),
      },
    ],
  ),
  { set: { ...bucket, S3_ENDPOINT: "minio:9000" }, says: /^S3_ENDPOINT=minio:9000 .*a URL/ },
  {
    set: { ...bucket, EXPORT_BUCKET_URL: "https://bucket" },
    says: /^EXPORT_BUCKET_URL=https:\/\/bucket .*expected s3:\/\/bucket\/prefix/,
  },
  {
    set: { ...bucket, EXPORT_BUCKET_URL: "s3://Upper_Case" },
    says: /^EXPORT_BUCKET_URL=s3:.* 3 to 63 lower-case letters, /,
  },
];

const files: Wrong[] = ["TLS_CERT_FILE", "TLS_KEY_FILE"].map((name) => ({
  set: { TLS_CERT_FILE: anyFile, TLS_KEY_FILE: anyFile, [name]: "/nowhere/at/all.pem" },
  says: new RegExp(`^${name}=/nowhere/at/all\\.pem .*expected a file that can be read`),
}));

const missing: Wrong[] = [
  ...["OAUTH_ROLE_CLAIM", "OAUTH_EMAIL_DOMAINS", "OAUTH_SCOPES"].map((name) => (
    { set: { [name]: "groups" }, says: /^OAUTH_ISSUER is missing: sign-in needs / }
  )),
  { set: { OAUTH_ROLE_MAP: "a=owner" }, says: /^OAUTH_ISSUER is missing: sign-in needs / },
  { set: { TLS_CERT_FILE: anyFile }, says: /^TLS_KEY_FILE is missing: .*certificate and its key/ },
  { set: { TLS_KEY_FILE: anyFile }, says: /^TLS_CERT_FILE is missing: / },
  { set: { HTTP_PORT: "8080" }, says: /^HTTP_PORT=8080 needs an HTTPS listener.*TLS_CERT_FILE/ },
  {
    set: { OAUTH_ISSUER: "https://id.example.com", OAUTH_CLIENT_SECRET: "s" },
    says: /^OAUTH_CLIENT_ID is missing/,
  },
  {
    set: { OAUTH_ISSUER: "https://id.example.com", OAUTH_CLIENT_ID: "i" },
    says: /^OAUTH_CLIENT_SECRET is missing/,
  },
  { set: { OAUTH_CLIENT_ID: "i", OAUTH_CLIENT_SECRET: "s" }, says: /^OAUTH_ISSUER is missing/ },
  {
    set: { ...signIn, OAUTH_ISSUER: "", OAUTH_TOKEN_URL: "https://id.example.com/token" },
    says: /^OAUTH_ISSUER is missing: .*OAUTH_AUTHORIZE_URL, OAUTH_TOKEN_URL and OAUTH_USERINFO_URL/,
  },
  { set: { ...bucket, AWS_ACCESS_KEY_ID: "" }, says: /^AWS_ACCESS_KEY_ID is missing/ },
  { set: { ...bucket, AWS_SECRET_ACCESS_KEY: "" }, says: /^AWS_SECRET_ACCESS_KEY is missing/ },
];

const plainHttp: Wrong[] = ["0.0.0.0", "::", "gateway.example.com", "127.example.com"].map(
  (HOST) => ({
    set: { HOST },
    says: new RegExp(
      `^HOST=${HOST.replaceAll(".", "\\.")} .*TLS_CERT_FILE.*TRUST_PROXY.*ALLOW_PLA`,
    ),
  }),
);

for (
  const { set, says } of [
    ...wholeNumbers,
    ...words,
    ...addresses,
    ...files,
    ...missing,
    ...plainHttp,
  ]
) {
  Deno.test(`${says.source} is the one line that the wrong value stops the start with`, () => {
    const { message } = refusal(set);
    assert.match(message, says);
    assert.doesNotMatch(message, /[\r\n]/);
  });
}

const canary = "c4nary-s3cret";
const secrets: Record<string, string>[] = [
  { DATABASE_URL: `mysql://root:${canary}@db/x` },
  { DATABASE_URL: canary },
  { ANALYTICS_DATABASE_URL: `clickhouse://u:${canary}@db` },
  { MASTER_KEY: canary },
  { MASTER_KEY: `${canary.padEnd(44, "x")}=` },
  { VENDOR_A_API_KEY: `${canary} with a space` },
  { VENDOR_A_API_KEY: `first,${canary} with a space` },
  { VENDOR_A_API_KEY: `${canary},second,${canary}` },
  { VENDOR_A_API_KEY: Array.from({ length: 101 }, (_, index) => canary + index).join() },
  { VENDOR_G_API_KEY: `${canary}é` },
  { VENDOR_B_BASE_URL: `https://user:${canary}@api.example.com/v1` },
  { VENDOR_B_BASE_URL: `https://user:${canary}@api.example.com:port/v1` },
  { VENDOR_B_BASE_URL: `https://api.example.com/v1?key=${canary}` },
  { BASE_URL: `https://${canary}@example.com` },
  { ...signIn, OAUTH_ISSUER: `https://user:${canary}@id.example.com` },
  { ...bucket, EXPORT_BUCKET_URL: `s3://AKIA:${canary}@exports/x` },
  { ...bucket, S3_ENDPOINT: `https://AKIA:${canary}@minio` },
  { ...signIn, OAUTH_CLIENT_ID: "", OAUTH_CLIENT_SECRET: canary },
  { ...bucket, AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: canary },
];
for (const set of secrets) {
  const names = Object.keys(set);
  Deno.test(`a wrong ${JSON.stringify(set).slice(0, 60)} is named, its secret isn't shown`, () => {
    const { message } = refusal(set);
    assert.ok(names.some((name) => message.startsWith(name)), message);
    assert.doesNotMatch(message, /c4nary|s3cret/);
    assert.doesNotMatch(message, /[\r\n]/);
  });
}

Deno.test("a value of several lines gives one line all the same", () => {
  assert.doesNotMatch(refusal({ HOST: "0.0.0.0\nrm -rf" }).message, /[\r\n]/);
  assert.doesNotMatch(refusal({ PORT: "80\r\n81" }).message, /[\r\n]/);
  assert.doesNotMatch(refusal({ JOURNAL_SYNC: "a\nb" }).message, /[\r\n]/);
});

Deno.test("no variable needs to be set; the defaults are those of the interface", () => {
  const { secretFrom: _, unknownVariables: __, ...config } = parseConfig({});
  assert.deepEqual(
    { ...config, vendors: Object.keys(config.vendors) },
    {
      host: "127.0.0.1",
      port: 8787,
      baseUrl: undefined,
      dataDir: "./data",
      databaseUrl: undefined,
      analyticsDatabaseUrl: undefined,
      masterKey: undefined,
      vendors: ["a", "b", "c", "d", "e", "f", "g"].map((letter) => `vendor-${letter}`),
      vendorsFile: undefined,
      pricesFile: undefined,
      program: "deno task",
      modelsFile: undefined,
      startingCreditNanos: 10_000_000_000n,
      tls: undefined,
      trustProxy: false,
      allowPlainHttp: false,
      corsOrigins: [],
      oauth: undefined,
      localSignIn: true,
      exportBucket: undefined,
      retentionPayloadDays: undefined,
      retentionUsageDays: undefined,
      maxBodyBytes: 33_554_432,
      callsInFlightMax: 4096,
      bodiesInFlightBytes: 25_165_824,
      payloadMaxBytes: 1_048_576,
      mediaInlineBytes: 65_536,
      journalMaxBytes: 4_294_967_296,
      connectTimeoutMs: 5000,
      firstByteTimeoutMs: 600_000,
      idleTimeoutMs: 300_000,
      callerUnreadTimeoutMs: 60_000,
      keepAliveMs: 15_000,
      callerHeadTimeoutMs: 15_000,
      callerBodyTimeoutMs: 30_000,
      callerIdleTimeoutMs: 75_000,
      responsesWebSocket: true,
      connectionsMax: 8192,
      connectionsPerPeerMax: 2048,
      notifySocket: undefined,
      workers: 1,
      worker: undefined,
      streamsPerAccountMax: 1000,
      backgroundPerAccountMax: 100,
      backgroundTimeoutMs: 3_600_000,
      storedBytesPerDay: 10_737_418_240,
      journalSync: "always",
      leaseSeconds: 150,
      logFormat: "text",
      telemetry: {
        ...{ protocol: "http/protobuf", headers: {}, timeoutMs: 10_000 },
        ...{ resource: { "service.name": "demeter" }, traces: undefined, metrics: undefined },
      },
      metricsToken: undefined,
      fetchAllowHosts: [],
    } satisfies Omit<Config, "secretFrom" | "unknownVariables" | "vendors"> & { vendors: string[] },
  );
});

Deno.test("a collector gets traces and metrics below one address, or at one of their own, or not", () => {
  const sent = (env: Record<string, string>) => {
    const { traces, metrics } = parseConfig(env).telemetry;
    return [traces?.endpoint, metrics?.endpoint];
  };
  const OTEL_EXPORTER_OTLP_ENDPOINT = "http://collector:4318/";
  const [traces, metrics] = ["http://collector:4318/v1/traces", "http://collector:4318/v1/metrics"];
  assert.deepEqual(sent({ OTEL_EXPORTER_OTLP_ENDPOINT }), [traces, metrics]);
  const off = (more: Record<string, string>) => sent({ OTEL_EXPORTER_OTLP_ENDPOINT, ...more });
  assert.deepEqual(off({ OTEL_METRICS_EXPORTER: "none" }), [traces, undefined]);
  assert.deepEqual(off({ OTEL_TRACES_EXPORTER: "none" }), [undefined, metrics]);
  assert.deepEqual(off({ OTEL_SDK_DISABLED: "true" }), [undefined, undefined]);
  const OTEL_EXPORTER_OTLP_METRICS_ENDPOINT = "http://prometheus:9090/api/v1/otlp/v1/metrics";
  assert.deepEqual(sent({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT }), [
    undefined,
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT,
  ]);
});

const reveal = (secret: Secret | undefined) => secret?.reveal();

Deno.test("what is set is taken, secrets as masks", () => {
  const config = parseConfig({
    ...bucket,
    ...signIn,
    PORT: "0",
    DATABASE_URL: postgres,
    MASTER_KEY: `${"A".repeat(43)}=`,
    VENDOR_B_BASE_URL: "https://proxy.example.com/v1//",
    VENDOR_B_API_KEY: "sk-b",
    STARTING_CREDIT_USD: "1000000000",
    CORS_ORIGINS: " https://a.example.com , http://localhost:3000 ",
    TRUST_PROXY: "TRUE",
    FETCH_ALLOW_HOSTS: "files.internal, 10.0.0.7:9000",
    METRICS_TOKEN: "scrape",
  });
  assert.equal(config.port, 0);
  assert.equal(reveal(config.databaseUrl), postgres);
  assert.equal(config.vendors["vendor-b"]?.baseUrl, "https://proxy.example.com/v1");
  assert.equal(reveal(config.vendors["vendor-b"]?.apiKey), "sk-b");
  assert.equal(config.startingCreditNanos, 10n ** 18n);
  assert.deepEqual(config.corsOrigins, ["https://a.example.com", "http://localhost:3000"]);
  assert.equal(config.trustProxy, true);
  assert.deepEqual(config.fetchAllowHosts, ["files.internal", "10.0.0.7:9000"]);
  assert.equal(config.exportBucket?.bucket, "exports");
  assert.equal(config.exportBucket?.prefix, "team");
  assert.equal(config.oauth?.issuer, "https://id.example.com");
  const shown = JSON.stringify(config, (_, value) => typeof value === "bigint" ? 0 : value) +
    Deno.inspect(config, { depth: 5 });
  for (const secret of ["hunter2", "AAAA", "sk-b", "hush", "AKIA1", "scrape"]) {
    assert.equal(shown.includes(secret), false, `${secret} is shown`);
  }
});

Deno.test("plain HTTP beyond loopback needs TLS, a trusted proxy or the operator's word", () => {
  const tls = { TLS_CERT_FILE: anyFile, TLS_KEY_FILE: anyFile };
  for (const more of [tls, { TRUST_PROXY: "true" }, { ALLOW_PLAIN_HTTP: "true" }]) {
    assert.equal(parseConfig({ HOST: "0.0.0.0", ...more }).host, "0.0.0.0");
  }
});

Deno.test("HOST is a name or an address, without a port", () => {
  const more = { ALLOW_PLAIN_HTTP: "true" };
  for (
    const host of ["localhost", "demeter_1.internal", "10.0.0.1", "::", "[::1]", "fe80::1%eth0"]
  ) {
    assert.equal(parseConfig({ HOST: host, ...more }).host, host);
  }
  for (const host of ["127.0.0.1:9000", "http://localhost", "a b", "[::1]:80", "::g"]) {
    const message =
      `HOST=${host} is not valid: expected an address of this machine, without a port, such as 127.0.0.1 or 0.0.0.0.`;
    assert.throws(() => parseConfig({ HOST: host }), { name: "ConfigError", message });
  }
});

Deno.test("a key that VENDORS_FILE names is checked as every vendor key", () => {
  const { secretFrom } = parseConfig({ MY_KEY: "key-1", BAD_KEY: `${canary}\n2` });
  assert.equal(reveal(secretFrom("MY_KEY")), "key-1");
  assert.equal(secretFrom("NO_KEY"), undefined);
  assert.throws(() => secretFrom("BAD_KEY"), { name: "ConfigError", message: /^BAD_KEY=\*+ / });
});

Deno.test("only addresses of this machine are loopback", () => {
  for (const host of ["localhost", "127.0.0.1", "127.8.9.10", "::1", "[::1]"]) {
    assert.equal(isLoopback(host), true, host);
  }
  for (const host of ["127.example.com", "127.0.0.1.example.com", "10.0.0.1", "0.0.0.0", ""]) {
    assert.equal(isLoopback(host), false, host);
  }
});

Deno.test("a compiled program keeps its data beside itself, another one below the directory it runs in", () => {
  assert.equal(defaultDataDir(true, () => "/opt/demeter/demeter"), "/opt/demeter/data");
  assert.equal(defaultDataDir(false), "./data");
});

Deno.test("background calls have bounds that are bounded themselves", () => {
  for (
    const [name, value] of [
      ["BACKGROUND_CALLS_PER_ACCOUNT_MAX", "0"],
      ["BACKGROUND_CALL_TIMEOUT_MS", "43200001"],
      ["BACKGROUND_CALL_TIMEOUT_MS", "forever"],
    ] as const
  ) {
    assert.throws(() => parseConfig({ [name]: value }), new RegExp(`${name}=${value}`));
  }
  const { backgroundTimeoutMs } = parseConfig({ BACKGROUND_CALL_TIMEOUT_MS: "43200000" });
  assert.equal(backgroundTimeoutMs, 12 * 60 * 60_000);
});

Deno.test("several workers need PostgreSQL, and are a number of processes", () => {
  const DATABASE_URL = "postgres://localhost/gateway";
  assert.equal(parseConfig({}).workers, 1);
  assert.equal(parseConfig({ WORKERS: "1" }).workers, 1);
  assert.equal(parseConfig({ WORKERS: "4", DATABASE_URL }).workers, 4);
  assert.throws(
    () => parseConfig({ WORKERS: "2" }),
    { name: "ConfigError", message: /^WORKERS=2 needs PostgreSQL.*: set DATABASE_URL, or/ },
  );
  for (const WORKERS of ["0", "65", "two"]) {
    assert.throws(() => parseConfig({ WORKERS, DATABASE_URL }), {
      name: "ConfigError",
      message: new RegExp(`^WORKERS=${WORKERS} is not valid: .* from 1 to 64`),
    });
  }
  const { worker } = parseConfig({ WORKERS: "4", DATABASE_URL, DEMETER_WORKER: "1 greets" });
  assert.deepEqual(worker, { index: 1, greets: true });
  const other = parseConfig({ WORKERS: "4", DATABASE_URL, DEMETER_WORKER: "3" });
  assert.deepEqual(other.worker, { index: 3, greets: false });
});

Deno.test("workers share what is the machine's", () => {
  const config = parseConfig({
    DATABASE_URL: "postgres://localhost/gateway",
    CONNECTIONS_MAX: "100",
    JOURNAL_MAX_BYTES: "1000001",
    WORKERS: "4",
  });
  const shared = shareOf(config, { index: 2, count: 4 });
  assert.equal(shared.connectionsMax, 25);
  assert.equal(shared.connectionsPerPeerMax, 512);
  assert.equal(shared.callsInFlightMax, 1024);
  assert.equal(shared.bodiesInFlightBytes, 6 * 1024 * 1024);
  assert.equal(shared.journalMaxBytes, 250_001);
  assert.equal(shareOf(config, { index: 1, count: 1 }), config);
});

Deno.test("vendors' usual key variables count where ours are absent, and are named", () => {
  const { vendors } = parseConfig({
    OPENAI_API_KEY: "usual-b",
    ANTHROPIC_API_KEY: "usual-c",
    VENDOR_C_API_KEY: "own-c",
    GEMINI_API_KEY: "usual-d",
  });
  const seen = Object.entries(vendors).map(([label, { apiKey, keyVariable }]) => [
    ...[label, apiKey?.reveal(), keyVariable],
  ]);
  assert.deepEqual(seen.filter(([, key]) => key !== undefined), [
    ["vendor-b", "usual-b", "OPENAI_API_KEY"],
    ["vendor-c", "own-c", "VENDOR_C_API_KEY"],
    ["vendor-d", "usual-d", "GEMINI_API_KEY"],
  ]);
  assert.throws(
    () => parseConfig({ XAI_API_KEY: "with spaces" }),
    /^ConfigError: XAI_API_KEY=\*+ is not/,
  );
});

Deno.test("links sign in where there is no identity provider, or where they are enabled", () => {
  const oauth = {
    ...{ OAUTH_ISSUER: "https://id.example", OAUTH_CLIENT_ID: "x", OAUTH_CLIENT_SECRET: "y" },
  };
  const on = (env: Record<string, string>) => parseConfig(env).localSignIn;
  assert.deepEqual([on({}), on(oauth)], [true, false]);
  assert.deepEqual(
    [on({ LOCAL_SIGN_IN: "false" }), on({ ...oauth, LOCAL_SIGN_IN: "true" })],
    [false, true],
  );
});

Deno.test("commands are shown as the program was started: as a task, by npx, by a command of its own", () => {
  const shown = (env: Record<string, string>) => adminCommandOf(parseConfig(env));
  assert.equal(shown({}), "deno task admin");
  assert.equal(shown({ DATA_DIR: "/srv/x" }), "DATA_DIR=/srv/x deno task admin");
  assert.equal(shown({ DATA_DIR: "/srv/Ann's x" }), "DATA_DIR='/srv/Ann'\\''s x' deno task admin");
  const byNpx = { npm_command: "exec" };
  assert.equal(shown(byNpx), `npx --yes deno@${Deno.version.deno} task admin`);
  assert.equal(shown({ ...byNpx, DEMETER_COMMAND: "./demeter" }), "./demeter admin");
  assert.equal(shown({ npm_command: "run-script" }), "deno task admin");
  const toAnyone = (env: Record<string, string>) => pathlessAdminCommand(parseConfig(env));
  assert.equal(toAnyone({ DATA_DIR: "/srv/x" }), "deno task admin");
  assert.equal(toAnyone({ DEMETER_COMMAND: "/opt/demeter/demeter" }), "demeter admin");
  assert.equal(toAnyone({ DEMETER_COMMAND: "'/opt/my gateway/demeter'" }), "demeter admin");
  assert.equal(toAnyone({ DEMETER_COMMAND: "./demeter" }), "./demeter admin");
});
