import type { Queryable } from "../src/database/database.ts";
import { openEmbedded } from "../src/database/embedded/embedded.ts";
import { openPostgres } from "../src/database/postgres/postgres.ts";
import { runProgram, type ServiceProcess, startService } from "../tests/support/process.ts";
import { postgresAvailability, startPostgres } from "../tests/support/postgres.ts";
import { asStarted } from "../tests/support/resident.ts";
import type { FilledDatabase } from "./calls.ts";
import { processTree } from "./processes.ts";

export type StoreKind = "embedded" | "postgres";

/** Calls of one measurement: how many were answered, and when. */
export interface MeasuredCalls {
  name: string;
  answered: number;
  since: Date;
  until: Date;
}

/** A gateway as `deno task start` runs it, with credit and without a rate limit. */
export interface Gateway extends AsyncDisposable {
  readonly title: string;
  readonly port: number;
  readonly baseUrl: string;
  readonly key: string;
  readonly pid: number;
  /** PostgreSQL's first process. */
  readonly storePid: number | undefined;
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** Reads `/metrics`: values by name, summed over labels. */
  metrics(): Promise<ReadonlyMap<string, number>>;
  /** Resolves when every record is in the store. */
  stored(): Promise<void>;
  /** Remembers calls that `proveCharged` will ask the store for. */
  remember(calls: MeasuredCalls): void;
  /**
   * Stops the service and compares its store with the remembered calls: as many completed rows,
   * each with one settled charge, all of the same price. Returns the differences.
   */
  proveCharged(): Promise<string[]>;
}

export interface GatewayOptions {
  store: StoreKind;
  vendorPort: number;
  /** Processes on one port (`WORKERS`). */
  workers?: number;
  env?: Readonly<Record<string, string>>;
  /** Fills the migrated database before the service starts. */
  fill?: (database: FilledDatabase) => Promise<void>;
}

/** PostgreSQL's settings in production; the tests' server turns durability off. */
const serverSettings = {
  fsync: "on",
  full_page_writes: "on",
  autovacuum: "on",
  shared_buffers: "512MB",
  max_wal_size: "4GB",
  wal_level: "replica",
};

/** Returns why PostgreSQL is missing; undefined if it is available. */
export function postgresMissing(): string | undefined {
  const { available, reason } = postgresAvailability();
  return available ? undefined : reason;
}

/** Starts a gateway in front of the vendor at `vendorPort`. Use it with `await using`. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { store, vendorPort, workers = 1 } = options;
  const dataDir = await Deno.makeTempDir({ prefix: "bench-" });
  const server = store === "postgres"
    ? await startPostgres({ private: true, settings: serverSettings })
    : undefined;
  const created = await server?.createDatabase();
  const env = {
    ...asStarted(),
    ...options.env,
    ...(created ? { DATABASE_URL: created.url } : {}),
    ...(workers > 1 ? { WORKERS: String(workers) } : {}),
    DATA_DIR: dataDir,
    VENDOR_B_BASE_URL: `http://127.0.0.1:${vendorPort}`,
    VENDOR_B_API_KEY: "sk-bench",
  };
  const first = await firstStart(env, options.fill, created?.url);
  const service = await startService({ env, timeoutMs: 120_000 });
  return new RunningGateway(
    `gateway, ${store === "postgres" ? "PostgreSQL" : "embedded"}${
      workers > 1 ? `, ${workers} processes` : ""
    }`,
    service,
    first.key,
    dataDir,
    created?.url,
    created ? serverPid(created.url) : undefined,
    async () => {
      await server?.stop();
      await Deno.remove(dataDir, { recursive: true });
    },
  );
}

/** Creates the store and the first key, grants credit, and runs `fill`. */
async function firstStart(
  env: Record<string, string>,
  fill: GatewayOptions["fill"],
  url: string | undefined,
): Promise<{ key: string }> {
  // One process creates the store, even if several will serve it.
  const service = await startService({ env: { ...env, WORKERS: "1" }, timeoutMs: 120_000 });
  const key = service.firstKey;
  const limits = ["--rpm", "100000000", "--burst", "100000000"];
  for (
    const args of [
      ["credits", "grant", "--usd", "1000000"],
      ["account", "tier", "1", "enterprise", ...limits],
    ]
  ) {
    const { code, stderr } = await runProgram({ script: "admin.ts", args, env });
    if (code !== 0) throw new Error(stderr);
  }
  await service.stop();
  if (fill) await inStore(env.DATA_DIR!, url, fill);
  return { key };
}

class RunningGateway implements Gateway {
  readonly #service: ServiceProcess;
  readonly #measured: MeasuredCalls[] = [];
  readonly #cleanUp: () => Promise<void>;

  constructor(
    readonly title: string,
    service: ServiceProcess,
    readonly key: string,
    readonly dataDir: string,
    readonly databaseUrl: string | undefined,
    readonly storePid: number | undefined,
    cleanUp: () => Promise<void>,
  ) {
    this.#service = service;
    this.#cleanUp = cleanUp;
  }

  get baseUrl(): string {
    return this.#service.baseUrl;
  }

  get port(): number {
    return Number(new URL(this.baseUrl).port);
  }

  get pid(): number {
    return this.#service.pid;
  }

  async metrics(): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(`${this.baseUrl}/metrics`)).text();
    const sums = new Map<string, number>();
    for (const [, name, value] of text.matchAll(/^(\w+)(?:\{[^}]*\})? ([\d.e+-]+)$/gm)) {
      sums.set(name!, (sums.get(name!) ?? 0) + Number(value));
    }
    return sums;
  }

  async stored(): Promise<void> {
    for (let looks = 0; looks < 600; looks++) {
      if ((await this.metrics()).get("gateway_records_waiting") === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`${this.title}: records were waiting for the store after a minute`);
  }

  remember(calls: MeasuredCalls): void {
    this.#measured.push(calls);
  }

  async proveCharged(): Promise<string[]> {
    await this.#service.stop();
    return await inStore(this.dataDir, this.databaseUrl, async (database) => {
      const wrong: string[] = [];
      for (const calls of this.#measured) wrong.push(...await chargeDifferences(database, calls));
      return wrong.map((one) => `${this.title}: ${one}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service[Symbol.asyncDispose]();
    await this.#cleanUp();
  }
}

/** Returns how the store differs from one record and one charge for each answered call. */
export async function chargeDifferences(
  database: Queryable,
  { name, answered, since, until }: MeasuredCalls,
): Promise<string[]> {
  const [row] = await database.query(chargesSql, [since.toISOString(), until.toISOString()]);
  const numbers = Object.entries(row!).map(([key, value]) => [key, Number(value)]);
  const { rows, charged, settled, row_nanos, ledger_nanos, prices } = Object.fromEntries(numbers);
  const found: string[] = [];
  const check = (what: string, is: number, wanted: number) => {
    if (is !== wanted) found.push(`${name}: ${what}: ${is} instead of ${wanted}`);
  };
  check("completed rows", rows, answered);
  check("rows with a charge", charged, answered);
  check("settled charges", settled, answered);
  check("the ledger's charges against the rows', in nano-dollars", ledger_nanos, row_nanos);
  check("prices of one and the same call", prices, answered === 0 ? 0 : 1);
  return found;
}

const chargesSql = `select count(*) as rows, count(*) filter (where i.charged_nanos > 0) as charged,
    count(l.id) as settled, coalesce(sum(i.charged_nanos), 0) as row_nanos,
    coalesce(-sum(l.amount_nanos), 0) as ledger_nanos, count(distinct i.charged_nanos) as prices
  from interactions i
    left join ledger_entries l on l.interaction_id = i.transaction_id and l.kind = 'settle'
  where i.created_at >= $1::timestamptz and i.created_at < $2::timestamptz
    and i.status = 'completed'`;

/** Runs `work` on the store itself; no service may be using it. */
async function inStore<T>(
  dataDir: string,
  url: string | undefined,
  work: (database: FilledDatabase) => Promise<T>,
): Promise<T> {
  const database = url === undefined
    ? await openEmbedded(`${dataDir}/database`)
    : await openPostgres(url);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Finds PostgreSQL's first process: the one whose arguments have the port. */
function serverPid(url: string): number | undefined {
  const wanted = `port=${new URL(url).port}`;
  return processTree(Deno.pid).find((pid) => {
    const words = argumentsOf(pid);
    return words[0]?.endsWith("/postgres") && words.includes(wanted);
  });
}

function argumentsOf(pid: number): string[] {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0");
  } catch {
    return [];
  }
}
