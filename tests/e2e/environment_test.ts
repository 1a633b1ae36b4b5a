import assert from "@std/assert";
import { parseConfig } from "../../src/main/config.ts";
import { failedStart } from "../../src/main/run_server.ts";
import { startServer } from "../../src/main/serve.ts";
import { noSiblings } from "../../src/workers/parent_link.ts";
import { anyDatabase } from "../support/any_database.ts";
import { freePort } from "../support/free_port.ts";
import { runProgram } from "../support/process.ts";
import { sample } from "../support/sample.ts";
import { startTestService } from "../support/service.ts";
import { testCertificate, testCertificateKey } from "../support/service_certificate.ts";
import { temporaryDirectory } from "../support/service_files.ts";

/** A start that can't be: what is set, and the one line that it ends with. */
interface WrongStart {
  env: Readonly<Record<string, string>>;
  says: RegExp;
  /** Parts of secret values, which the line must not show. */
  hides?: string;
}

const directory = temporaryDirectory("environment");
const file = (name: string, text: string) => {
  Deno.writeTextFileSync(`${directory}/${name}`, text);
  return `${directory}/${name}`;
};
const certificate = file("certificate.pem", testCertificate);
const key = file("key.pem", testCertificateKey);
const otherKey = file(
  "other-key.pem",
  `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjPOSj/v0s13U8IN5
b246RXWQCE3yR0Q+XAcQl5nmyB+hRANCAARbXj/dWpBzsn2rYX+tI17KCq0HIuY9
FqJe4VUX6K2KDSfP28DQFIx8Xcxpi5MQyDQUkAK3wBiGKRfk1/hQq9Yx
-----END PRIVATE KEY-----
`,
);
const noPem = file("no-pem.txt", "this is no certificate");
const secret = "canary-secret";

const numbers = (names: readonly string[], value: string): WrongStart[] =>
  names.map((name) => ({
    env: { [name]: value },
    says: new RegExp(`^error: ${name}=${value} is not valid: expected a whole number from \\d+ to`),
  }));

const letters = ["A", "B", "C", "D", "E", "F", "G"];

const wrongStarts: readonly WrongStart[] = [
  ...numbers(["PORT"], "70000"),
  ...numbers([
    "RETENTION_PAYLOAD_DAYS",
    "RETENTION_USAGE_DAYS",
    "MAX_BODY_BYTES",
    "PAYLOAD_MAX_BYTES",
    "MEDIA_INLINE_BYTES",
    "JOURNAL_MAX_BYTES",
    "CONNECT_TIMEOUT_MS",
    "FIRST_BYTE_TIMEOUT_MS",
    "IDLE_TIMEOUT_MS",
    "KEEP_ALIVE_MS",
    "LEASE_SECONDS",
    "CALLER_HEAD_TIMEOUT_MS",
    "CONNECTIONS_MAX",
  ], "soon"),
  ...letters.map((letter) => ({
    env: { [`VENDOR_${letter}_BASE_URL`]: "not an address" },
    says: new RegExp(
      `^error: VENDOR_${letter}_BASE_URL=not an address is not valid: expected a URL such as`,
    ),
  })),
  ...letters.map((letter) => ({
    env: { [`VENDOR_${letter}_API_KEY`]: `${secret} with spaces` },
    says: new RegExp(`^error: VENDOR_${letter}_API_KEY=\\*\\*\\*\\* is not valid: expected a key`),
    hides: secret,
  })),
  { env: { BASE_URL: "gateway" }, says: /^error: BASE_URL=gateway is not valid: expected a URL/ },
  {
    env: { BASE_URL: `https://me:${secret}@gateway.example` },
    says: /^error: BASE_URL=\*\*\*\* is not valid: expected a URL .*without credentials/,
    hides: secret,
  },
  { env: { HOST: "0.0.0.0" }, says: /^error: HOST=0\.0\.0\.0 would serve plain HTTP .*: set TLS_/ },
  {
    env: { HOST: "no-such-host.invalid", ALLOW_PLAIN_HTTP: "true" },
    says: /^error: HOST=no-such-host\.invalid is not valid .*: expected an address of this machine/,
  },
  {
    env: { HOST: "192.0.2.1", ALLOW_PLAIN_HTTP: "true" },
    says: /^error: HOST=192\.0\.2\.1 is not valid .*: expected an address of this machine/,
  },
  // As the program is started, Deno refuses it, in words about its flags.
  {
    env: { DATA_DIR: "/proc/x" },
    says: /^error: DATA_DIR=\/proc\/x can't be used \((?!.*--allow)/,
  },
  {
    env: { DATA_DIR: noPem },
    says: /^error: DATA_DIR=.*no-pem\.txt can't be used \(.*\): set DATA_DIR to a directory that/,
  },
  {
    env: { DATABASE_URL: `mysql://root:${secret}@127.0.0.1/x` },
    says: /^error: DATABASE_URL=\*\*\*\* is not valid: expected a URL such as postgres:/,
    hides: secret,
  },
  {
    env: { DATABASE_URL: `postgres://gateway:${secret}@127.0.0.1:9/gateway` },
    says:
      /^error: DATABASE_URL: PostgreSQL at 127\.0\.0\.1:9 can't be reached .*; start it or corr/,
    hides: secret,
  },
  {
    env: { ANALYTICS_DATABASE_URL: `clickhouse://${secret}` },
    says: /^error: ANALYTICS_DATABASE_URL=\*\*\*\* is not valid: expected/,
    hides: secret,
  },
  {
    env: { MASTER_KEY: secret },
    says: /^error: MASTER_KEY=\*\*\*\* is not valid: expected 32 bytes in base64.*openssl rand/,
    hides: secret,
  },
  {
    env: { VENDORS_FILE: "/no/such/file" },
    says: /^error: VENDORS_FILE=\/no\/such\/file is not valid: /,
  },
  {
    env: { VENDORS_FILE: file("vendors.json", '[{"label":"mine"}]') },
    says: /^error: VENDORS_FILE=.*vendors\.json is not valid: \[0\]\.base_url: /,
  },
  {
    env: { PRICES_FILE: file("prices.json", '{"vendor-b/x":{"input":"-1"}}') },
    says: /^error: PRICES_FILE=.*prices\.json is not valid: .*input/,
  },
  {
    env: { MODELS_FILE: "/no/such/file" },
    says: /^error: MODELS_FILE=\/no\/such\/file is not valid: /,
  },
  {
    env: { MODELS_FILE: file("models.json", '{"fast":{"targets":["gpt-5-mini","nobody/x"]}}') },
    says:
      /^error: MODELS_FILE=.*models\.json is not valid: fast\.targets\[1\]\.model: unknown model 'nobody\/x'/,
  },
  {
    env: { STARTING_CREDIT_USD: "much" },
    says: /^error: STARTING_CREDIT_USD=much is not valid: expected an amount in US dollars/,
  },
  {
    env: { TLS_CERT_FILE: certificate },
    says: /^error: TLS_KEY_FILE is missing: TLS needs a certificate and its key: set both\./,
  },
  {
    env: { TLS_CERT_FILE: "/no/such/file", TLS_KEY_FILE: key },
    says: /^error: TLS_CERT_FILE=\/no\/such\/file is not valid: expected a file that can be read/,
  },
  {
    env: { TLS_CERT_FILE: noPem, TLS_KEY_FILE: key },
    says: /^error: TLS_CERT_FILE=.*no-pem\.txt is not valid: expected a file in PEM/,
  },
  {
    env: { TLS_CERT_FILE: certificate, TLS_KEY_FILE: otherKey },
    says: /^error: TLS_CERT_FILE=.* and TLS_KEY_FILE=.* are not valid \(.*\): expected a certif/,
  },
  {
    env: { TLS_CERT_FILE: key, TLS_KEY_FILE: key },
    says: /^error: TLS_CERT_FILE=.* and TLS_KEY_FILE=.* are not valid \(.*\): expected a certif/,
  },
  {
    env: { HTTP_PORT: "8080" },
    says: /^error: HTTP_PORT=8080 needs an HTTPS listener .*: set TLS_CERT_FILE and TLS_KEY_FILE/,
  },
  { env: { TRUST_PROXY: "yes" }, says: /^error: TRUST_PROXY=yes is not valid: expected true or f/ },
  {
    env: { ALLOW_PLAIN_HTTP: "x" },
    says: /^error: ALLOW_PLAIN_HTTP=x is not valid: expected true/,
  },
  {
    env: { CORS_ORIGINS: "https://app.example/path" },
    says: /^error: CORS_ORIGINS=https:\/\/app\.example\/path is not valid: expected origins such/,
  },
  { env: { OAUTH_ISSUER: "https://id.example" }, says: /^error: OAUTH_CLIENT_ID is missing: / },
  { env: { OAUTH_CLIENT_ID: "x" }, says: /^error: OAUTH_ISSUER is missing: .*OAUTH_TOKEN_URL/ },
  {
    env: { OAUTH_ISSUER: "https://id.example", OAUTH_CLIENT_ID: "x" },
    says: /^error: OAUTH_CLIENT_SECRET is missing: /,
  },
  {
    env: { OAUTH_TOKEN_URL: "http://id.example/token" },
    says: /^error: OAUTH_TOKEN_URL=http:\/\/id\.example\/token is not valid: expected an https/,
  },
  {
    env: { EXPORT_BUCKET_URL: "https://bucket.example" },
    says: /^error: EXPORT_BUCKET_URL=https:\/\/bucket\.example is not valid: expected s3:/,
  },
  { env: { EXPORT_BUCKET_URL: "s3://bucket/x" }, says: /^error: AWS_ACCESS_KEY_ID is missing: / },
  {
    env: { S3_ENDPOINT: "localhost" },
    says: /^error: S3_ENDPOINT=localhost is not valid: expected a URL/,
  },
  {
    env: { JOURNAL_SYNC: "never" },
    says: /^error: JOURNAL_SYNC=never is not valid: expected alwa/,
  },
  {
    env: { FETCH_ALLOW_HOSTS: "http://files" },
    says: /^error: FETCH_ALLOW_HOSTS=http:\/\/files is not valid: expected host names/,
  },
];

Deno.test("every wrong value ends the start with one line that says what to do", async (t) => {
  const data = `${directory}/here`;
  await using database = await anyDatabase();
  for (const { env, says, hides } of wrongStarts) {
    await t.step(Object.keys(env).join(" "), async () => {
      const printed: string[] = [];
      const print = (line: string) => void printed.push(line);
      const given = { PORT: "0", DATA_DIR: data, ...database.env, ...env };
      // As the program does it: what reads the settings may be what throws.
      const start = Promise.try(() => startServer(parseConfig(given), print, { lines: silent }));
      const said = await start.then(() => "it starts", failedStart);
      assert.match(said, says);
      assert.ok(!said.includes("\n"), "exactly one line");
      assert.deepEqual(printed, [], "no key, no address");
      if (hides !== undefined) assert.ok(!said.includes(hides), "the secret is masked");
    });
  }
});

Deno.test("a start that fails on a file of DATA_DIR says what to do", () => {
  const full = Object.assign(new Error("No space left on device (os error 28)"), {
    code: "ENOSPC",
  });
  assert.match(
    failedStart(full),
    /^error: No space [^\n]*: the disk of DATA_DIR is full, make room/,
  );
  const denied = new Deno.errors.PermissionDenied("Permission denied (os error 13): readdir '/x'");
  assert.match(
    failedStart(denied),
    /^error: [^\n]*'\/x': let this user read and write all of DATA/,
  );
});

Deno.test("a worker beside others takes no connection before the database has answered it", async () => {
  using database = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = String((database.addr as Deno.NetAddr).port);
  const [PORT, DATA_DIR] = [String(freePort()), await Deno.makeTempDir()];
  const DATABASE_URL = `postgres://user:secret@127.0.0.1:${port}/gateway`;
  const config = parseConfig({ PORT, DATA_DIR, DATABASE_URL, WORKERS: "2" });
  const parent = { ...noSiblings, send() {}, answers() {} };
  const worker = { seat: { index: 2, count: 2 }, parent, greets: false };
  const start = startServer(config, () => {}, { lines: silent, worker }).catch(failedStart);
  const asked = await database.accept();
  await assert.rejects(Deno.connect({ hostname: "127.0.0.1", port: Number(PORT) }));
  asked.close();
  database.close();
  assert.match(String(await start), /can't be reached/);
  await Deno.remove(DATA_DIR, { recursive: true });
});

const silent = { write() {}, flush() {} };

/** Each is a program of its own: the gate starts every twelfth, `STARTS=all` starts all. */
const started = sample(wrongStarts, {
  oneOf: 12,
  salt: "wrong starts",
  all: Deno.env.get("STARTS") === "all",
});

Deno.test("a program with a wrong value ends with exit code 1 and that line alone", async (t) => {
  await using database = await anyDatabase();
  await inTurns(2, started, (wrong, index) =>
    t.step({
      name: Object.keys(wrong.env).join(" "),
      fn: () => endsWith({ ...wrong, env: { ...database.env, ...wrong.env } }, index),
      sanitizeOps: false,
      sanitizeResources: false,
      sanitizeExit: false,
    }));
});

async function endsWith({ env, says, hides }: WrongStart, index: number): Promise<void> {
  const ended = await runProgram({
    env: { PORT: "0", DATA_DIR: `${directory}/data-${index}`, ...env },
  });
  assert.equal(ended.code, 1, ended.stderr);
  assert.match(ended.stderr, says);
  assert.match(ended.stderr, /^[^\n]+\n$/, "exactly one line");
  assert.equal(ended.stdout, "", "no key, no address");
  if (hides !== undefined) assert.ok(!ended.stderr.includes(hides), "the secret is masked");
}

Deno.test("a second process on the same data directory, or port, names the process that holds it", async () => {
  await using held = await anyDatabase();
  await using free = await anyDatabase();
  const DATA_DIR = `${directory}/first`;
  await using first = await startTestService({ env: { ...held.env, DATA_DIR } });
  const port = new URL(first.baseUrl).port;
  const data = `${directory}/second`;
  for (
    const { env, says } of [
      {
        env: { DATA_DIR },
        says: new RegExp(
          `^error: DATA_DIR=.* is held by process ${Deno.pid} \\(${first.baseUrl}\\): stop it, or`,
        ),
      },
      {
        env: { DATA_DIR: data, PORT: port },
        says: new RegExp(
          `^error: PORT=${port} is in use by another process: stop it, or set PORT to another port`,
        ),
      },
      {
        env: {
          DATA_DIR: data,
          TLS_CERT_FILE: certificate,
          TLS_KEY_FILE: key,
          HTTP_PORT: port,
        },
        says: new RegExp(`^error: HTTP_PORT=${port} is in use by another process: .*HTTP_PORT to`),
      },
    ]
  ) await endsWith({ env: { ...free.env, ...env }, says }, 1000);
  assert.equal((await fetch(`${first.baseUrl}/livez`)).status, 200, "the first one lives on");
  // A start that failed has printed no key: the next one is the first, and does.
  await using third = await startTestService({ env: { ...free.env, DATA_DIR: data } });
  assert.match(third.key, /^dmt_/);
});

/** Works on all items, at most `width` at a time. */
async function inTurns<T>(
  width: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const queue = [...items.entries()];
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) await work(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

const wrongArguments: [script: "main.ts" | "demo/main.ts", args: string[], says: RegExp][] = [
  [
    "main.ts",
    ["--port", "9000"],
    /^'--port' is unknown: .* start takes no arguments; settings are/,
  ],
  ["main.ts", ["now"], /^'now' is unknown: /],
  ["demo/main.ts", ["--emty"], /^'--emty' is unknown: .* demo takes only --empty; settings are/],
  ["demo/main.ts", ["--empty", "--empty"], /^'--empty' is unknown: /],
];
for (const [script, args, says] of wrongArguments) {
  Deno.test(`a start with ${args.join(" ")} ends: it would not be what was asked for`, async () => {
    const env = { DATA_DIR: `${directory}/none`, PORT: "0" };
    const { code, stdout, stderr } = await runProgram({ script, args, env });
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, says);
  });
}

Deno.test("--help explains a start, and starts nothing", async () => {
  const env = { DATA_DIR: `${directory}/none`, PORT: "0" };
  const { code, stdout, stderr } = await runProgram({ script: "demo/main.ts", args: ["-h"], env });
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(
    stdout,
    /^Starts the service with simulated vendors .*\n\nusage: .* demo \[--empty\]$/m,
  );
});

Deno.test("a demo with an invalid setting says so in one line, also if its sign-in's port is taken", async () => {
  using _port = takenPort(8786);
  const env = { DATA_DIR: `${directory}/none`, PORT: "80a" };
  const { code, stdout, stderr } = await runProgram({ script: "demo/main.ts", env });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.equal(
    stderr,
    "error: PORT=80a is not valid: expected a whole number from 0 to 65535.\n",
  );
});

/** Takes a port unless another program has it already. */
function takenPort(port: number): Disposable | undefined {
  try {
    return Deno.listen({ hostname: "127.0.0.1", port });
  } catch {
    return undefined;
  }
}
