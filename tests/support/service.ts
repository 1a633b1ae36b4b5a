import { type Client, createClient } from "../../contracts/client.ts";
import { contracts } from "../../contracts/mod.ts";
import { callControl } from "../../src/admin/control.ts";
import type { CommandResult } from "../../src/admin/command.ts";
import { connectionsByDescriptors } from "../../src/listener/descriptors.ts";
import { parseConfig } from "../../src/main/config.ts";
import { type OnFirstStart, startServer } from "../../src/main/serve.ts";
import { LABELS, type Simulators, startSimulators } from "../../demo/simulators.ts";
import { createMigrated } from "./databases.ts";
import { memoryFolder } from "./memory_folder.ts";
import { ensureMigrated } from "./new_database.ts";
import { postgresAvailability } from "./postgres.ts";
import { reuseWriterThreads } from "./writer_threads.ts";

/** One row of an export, by the columns of interface.md §6. */
export type Row = Readonly<Record<string, unknown>>;

/** Shared by all services of this process. */
const writerThreads = reuseWriterThreads();

let found: { most: number | undefined } | undefined;

/** The limit is the process's: two thousand files opened tell its first service, and all others. */
const mostByDescriptors: typeof connectionsByDescriptors = (open) =>
  (found ??= { most: connectionsByDescriptors(open) }).most;

export type Environment = Readonly<Record<string, string>>;

/** A service that runs in the test's own process. */
export interface TestService extends AsyncDisposable {
  /** Where it listens, without a slash at the end. */
  readonly baseUrl: string;
  /** The key of the first start: every scope, the operator's account. */
  readonly key: string;
  readonly dataDir: string;
  /** Log lines so far. */
  readonly log: readonly string[];
  /** What the start printed. */
  readonly greeting: readonly string[];
  /** `fetch` below the address, with the first key unless another credential is given. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Posts a JSON value, or text and bytes as they are. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** The endpoints, typed by their contracts; with the first key unless another is given. */
  api(key?: string): Client<typeof contracts>;
  /** Rows of an export of everything; `filters` as the request takes them. */
  rows(filters?: Readonly<Record<string, unknown>>, key?: string): Promise<Row[]>;
  /** The row of one call. Throws unless there is exactly one. */
  row(transactionId: string | null): Promise<Row>;
  /** An operator's command, run by the server as `deno task admin` would have it run. */
  admin(...argv: string[]): Promise<CommandResult>;
  /** Makes a key; `argv` are further options of `key create`. */
  createKey(...argv: string[]): Promise<{ id: string; key: string; account_id: number }>;
  stop(): Promise<void>;
}

export interface TestServiceOptions extends DatabaseChoice {
  env?: Environment;
  /** For TLS: a client that trusts the certificate. */
  client?: Deno.HttpClient;
  /** As of `startServer`. */
  onFirstStart?: OnFirstStart;
}

export interface DatabaseChoice {
  /**
   * Unless `env` has an address or a data directory, `any`: PostgreSQL where there is one, which
   * starts in a quarter of the time. The embedded one where there is none, and in the long rounds
   * (`STORE=embedded`, `STORE=both`).
   */
  database?: "any" | "embedded";
}

/**
 * Starts the service in this process on a free port, with a clean environment and a data directory
 * of its own, which goes with it. A directory given as `env.DATA_DIR` is the caller's, and stays.
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
      writerThreads,
      mostByDescriptors,
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

/** Whether what may run on any database runs on PostgreSQL here. */
export function isPostgresPreferred(): boolean {
  return ["postgres", undefined].includes(Deno.env.get("STORE")) &&
    postgresAvailability().available;
}

/** What a test asks of a service, wherever it runs. */
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
    const answer = await post(
      "/api/v1/exports",
      { start_date: "2020-01-01T00:00:00Z", filters },
      { authorization: `Bearer ${key}` },
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

/** Addresses and keys of simulated vendors, as the service's environment names them. */
export function simulatedEnvironment(simulators: Simulators): Record<string, string> {
  return Object.fromEntries(LABELS.flatMap((label) => {
    const { baseUrl, apiKey } = simulators.vendors[label];
    const name = label.toUpperCase().replace("-", "_");
    return [[`${name}_BASE_URL`, baseUrl], [`${name}_API_KEY`, apiKey]];
  }));
}

/** A service in front of the simulated vendors. */
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
 * Something that all tests of a file share: started before the first, stopped after the last. Call
 * the result inside tests only.
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
