import { type Client, createClient } from "../../contracts/client.ts";
import { contracts } from "../../contracts/mod.ts";
import { callControl } from "../../src/admin/control.ts";
import type { Clock } from "../../src/base/clock.ts";
import type { CommandResult } from "../../src/admin/command.ts";
import { connectionsByDescriptors } from "../../src/listener/descriptors.ts";
import { parseConfig } from "../../src/main/config.ts";
import { type OnFirstStart, startServer } from "../../src/main/serve.ts";
import { LABELS, type Simulators, startSimulators } from "../../demo/simulators.ts";
import { createMigrated } from "./databases.ts";
import { memoryFolder } from "./memory_folder.ts";
import { ensureMigrated } from "./new_database.ts";
import { postgresAvailability } from "./postgres.ts";
import { untilStored } from "./until_admitted.ts";
import { reuseWriterThreads } from "./writer_threads.ts";

/** One row of an export, by the columns of interface.md §6. */
export type Row = Readonly<Record<string, unknown>>;

/** Writer threads, shared by all services of this process. */
const writerThreads = reuseWriterThreads();

let found: { most: number | undefined } | undefined;

/** The limit is the process's: two thousand files opened tell its first service, and all others. */
const maxByDescriptors: typeof connectionsByDescriptors = (...asked) =>
  (found ??= { most: connectionsByDescriptors(...asked) }).most;

export type Environment = Readonly<Record<string, string>>;

/** A service that runs in the test's own process. */
export interface TestService extends AsyncDisposable {
  /** The address that it listens on, without a slash at the end. */
  readonly baseUrl: string;
  /** The key of the first start, which has every scope and belongs to the operator's account. */
  readonly key: string;
  readonly dataDir: string;
  /** Log lines so far. */
  readonly log: readonly string[];
  /** What the start printed. */
  readonly greeting: readonly string[];
  /** Fetches a path of the service, with the first key unless the headers have another one. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Posts text and bytes unchanged, and other values as JSON. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Returns a client that is typed by the contracts; with the first key unless one is given. */
  api(key?: string): Client<typeof contracts>;
  /** Returns the rows of an export; `filters` are those of the export's request. */
  rows(filters?: Readonly<Record<string, unknown>>, key?: string): Promise<Row[]>;
  /** Returns the row of one call. Throws unless there is exactly one. */
  row(transactionId: string | null): Promise<Row>;
  /** Has the server run one of the operator's commands, as `deno task admin` does. */
  admin(...argv: string[]): Promise<CommandResult>;
  /** Makes a key; `argv` are further options of `key create`. */
  createKey(...argv: string[]): Promise<{ id: string; key: string; account_id: number }>;
  stop(): Promise<void>;
}

export interface TestServiceOptions extends DatabaseChoice {
  env?: Environment;
  /** For TLS: a client that trusts the certificate. */
  client?: Deno.HttpClient;
  /** See `startServer`. */
  onFirstStart?: OnFirstStart;
  /** See `startServer`. */
  clock?: Clock;
}

export interface DatabaseChoice {
  /**
   * `any` (the default) is PostgreSQL if there is one, because it starts in a quarter of the time.
   * It is the embedded database otherwise, in the long rounds (`STORE=embedded`, `STORE=both`), and
   * if `env` has a data directory. An address in `env` comes first.
   */
  database?: "any" | "embedded";
}

/**
 * Starts the service in this process on a free port, with a clean environment and its own data
 * directory, which is removed with it. A directory in `env.DATA_DIR` is the caller's and stays.
 */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const given = options.env?.DATA_DIR;
  const dataDir = given ??
    await Deno.makeTempDir({ prefix: "gateway-data-", ...memoryFolder() });
  const isOpen = given === undefined && options.env?.DATABASE_URL === undefined;
  const postgres = isOpen && options.database !== "embedded" && isPostgresPreferred()
    ? await createMigrated()
    : undefined;
  if (!postgres && options.env?.DATABASE_URL === undefined) await ensureMigrated(dataDir);
  const greeting: string[] = [];
  const log: string[] = [];
  const address: Environment = postgres ? { DATABASE_URL: postgres.url } : {};
  const config = parseConfig({ PORT: "0", ...address, ...options.env, DATA_DIR: dataDir });
  const removeData = async () => {
    await postgres?.drop();
    if (given === undefined) await Deno.remove(dataDir, { recursive: true });
  };
  const server = await startServer(
    config,
    (line) => greeting.push(line),
    {
      lines: { write: (line) => log.push(line), flush() {} },
      onFirstStart: options.onFirstStart,
      ...options.clock ? { clock: options.clock } : {},
      writerThreads,
      maxByDescriptors,
    },
  ).catch(async (thrown) => {
    await removeData();
    throw thrown;
  });
  let stopped: Promise<void> | undefined;
  const stop = () => stopped ??= server.stop().finally(removeData);
  const key = /dmt_[0-9A-Za-z]{49}/.exec(greeting.join("\n"))?.[0] ?? "";
  return {
    baseUrl: server.address,
    key,
    dataDir,
    log,
    greeting,
    ...calls({ baseUrl: server.address, key, client: options.client }),
    ...commands(dataDir),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Whether tests that may run on any database run on PostgreSQL here. */
export function isPostgresPreferred(): boolean {
  return ["postgres", undefined].includes(Deno.env.get("STORE")) &&
    postgresAvailability().available;
}

/** Returns functions that call a service, wherever it runs. */
export function calls(
  at: { baseUrl: string; key: string; client?: Deno.HttpClient | undefined },
): Pick<TestService, "fetch" | "post" | "api" | "rows" | "row"> {
  const fetchWithKey: TestService["fetch"] = (path, init = {}) => {
    const headers = new Headers(init.headers);
    const carries = ["authorization", "x-api-key", "x-goog-api-key"].some((one) =>
      headers.has(one)
    );
    if (!carries) headers.set("authorization", `Bearer ${at.key}`);
    const client = at.client ? { client: at.client } : {};
    return fetch(at.baseUrl + path, { redirect: "manual", ...init, headers, ...client });
  };
  const post: TestService["post"] = (path, body, headers = {}) =>
    fetchWithKey(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: isRaw(body) ? body : JSON.stringify(body),
    });
  const rows: TestService["rows"] = async (filters = {}, key = at.key) => {
    const body = { start_date: "2020-01-01T00:00:00Z", filters };
    const answer = await untilStored(() =>
      post("/api/v1/exports", body, { authorization: `Bearer ${key}` })
    );
    if (answer.status !== 200) throw new Error(`The export answered ${answer.status}`);
    return await answer.json() as Row[];
  };
  return {
    fetch: fetchWithKey,
    post,
    api: (apiKey = at.key) =>
      createClient(contracts, {
        baseUrl: at.baseUrl,
        apiKey,
        fetch: (url, init) => fetch(url, at.client ? { ...init, client: at.client } : init),
      }),
    rows,
    async row(transactionId) {
      if (transactionId === null) throw new Error("The answer names no transaction");
      const found = await rows({ transaction_id: transactionId });
      if (found.length !== 1) throw new Error(`${found.length} rows for one call`);
      return found[0]!;
    },
  };
}

function commands(dataDir: string): Pick<TestService, "admin" | "createKey"> {
  const admin = async (...argv: string[]) => {
    const result = await callControl(dataDir, argv);
    if (!result) throw new Error("No server took the command");
    return result;
  };
  return {
    admin,
    async createKey(...argv) {
      const name = argv.includes("--name") ? [] : ["--name", "of a test"];
      const made = await admin("key", "create", ...name, ...argv);
      if (made.exitCode !== 0) throw new Error(made.lines.join("\n"));
      return made.json as Awaited<ReturnType<TestService["createKey"]>>;
    },
  };
}

/** Returns the addresses and keys of simulated vendors as variables of the service. */
export function simulatedEnvironment(simulators: Simulators): Record<string, string> {
  return Object.fromEntries(LABELS.flatMap((label) => {
    const { baseUrl, apiKey } = simulators.vendors[label];
    const name = label.toUpperCase().replace("-", "_");
    return [[`${name}_BASE_URL`, baseUrl], [`${name}_API_KEY`, apiKey]];
  }));
}

/** Starts a service in front of the simulated vendors. */
export async function startSimulatedService(
  env: Environment = {},
  choice: Omit<TestServiceOptions, "env"> = {},
): Promise<TestService & { simulators: Simulators }> {
  const simulators = await startSimulators();
  const environment = { ...simulatedEnvironment(simulators), ...env };
  const service = await startTestService({ env: environment, ...choice })
    .catch(async (thrown) => {
      await simulators.close();
      throw thrown;
    });
  const stop = async () => {
    await service.stop();
    await simulators.close();
  };
  return { ...service, simulators, stop, [Symbol.asyncDispose]: stop };
}

/**
 * Starts something that all tests of a file share before the first test, and stops it after the
 * last. Call the returned function inside tests only.
 */
export function shared<T extends { stop(): Promise<void> }>(start: () => Promise<T>): () => T {
  let running: T | undefined;
  Deno.test.beforeAll(async () => {
    running = await start();
  });
  Deno.test.afterAll(async () => {
    await running?.stop();
  });
  return () => {
    if (!running) throw new Error("The shared service is not running");
    return running;
  };
}

function isRaw(body: unknown): body is string | Uint8Array<ArrayBuffer> | ReadableStream {
  return typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;
}
