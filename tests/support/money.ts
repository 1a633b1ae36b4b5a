import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { createMigrated, databasesOfThisRun } from "./databases.ts";
import { type FakeExchange, type FakeVendor, startFakeVendor } from "./fake_vendor.ts";
import { postgresAvailability, startPostgres, type TestDatabase } from "./postgres.ts";
import type { ServiceProcess } from "./process.ts";
import { calls } from "./service.ts";
import { streamEvents, wholeAnswer } from "./service_scripted.ts";

/** An installation whose processes a test starts: a database and a first data directory. */
export interface Site {
  readonly kind: "embedded" | "postgres";
  /** The environment of the first process. */
  readonly env: Readonly<Record<string, string>>;
  /** Returns the environment of another process on the same database, with its own directory. */
  another(): Readonly<Record<string, string>>;
  /** Runs `work` on the database; on the embedded one no process of the service may be running. */
  query<T>(work: (database: Database) => Promise<T>): Promise<T>;
}

/** `empty`: a PostgreSQL database begins without tables; otherwise it is migrated already. */
export interface SiteOptions {
  readonly empty?: boolean;
}

/** Registers a test with an installation on each database of this run. */
export function eachSite(
  name: string,
  test: (site: Site) => Promise<void>,
  options: SiteOptions = {},
): void {
  const { postgres, embedded } = databasesOfThisRun();
  if (postgres) postgresSite(name, test, options);
  if (embedded) embeddedSite(name, test);
}

/**
 * Registers a test with an installation on the embedded database, and in the long rounds also on
 * PostgreSQL: for behaviour that another test covers on PostgreSQL in the gate.
 */
export function embeddedSiteFirst(name: string, test: (site: Site) => Promise<void>): void {
  const { postgres, embedded } = databasesOfThisRun();
  if (postgres && embedded) postgresSite(name, test);
  embeddedSite(name, test);
}

function embeddedSite(name: string, test: (site: Site) => Promise<void>): void {
  Deno.test(`${name} (embedded)`, () => withSite(undefined, test));
}

/** Registers a test with an installation on PostgreSQL. */
export function postgresSite(
  name: string,
  test: (site: Site) => Promise<void>,
  { empty = false }: SiteOptions = {},
): void {
  const { available, reason } = postgresAvailability();
  Deno.test({
    name: `${name} (postgres${available ? "" : `; skipped: ${reason}`})`,
    ignore: !available,
    fn: async () => {
      const database = empty
        ? await (await startPostgres()).createDatabase()
        : await createMigrated();
      await withSite(database, test);
    },
  });
}

async function withSite(
  database: TestDatabase | undefined,
  test: (site: Site) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-money-" });
  let directories = 0;
  const environment = (): Record<string, string> => ({
    DATA_DIR: `${folder}/${++directories}`,
    ...(database ? { DATABASE_URL: database.url } : {}),
  });
  const env = environment();
  try {
    await test({
      kind: database ? "postgres" : "embedded",
      env,
      another: environment,
      async query(work) {
        const opened = database
          ? await openPostgres(database.url)
          : await openEmbedded(`${env.DATA_DIR}/database`);
        try {
          return await work(opened);
        } finally {
          await opened.close();
        }
      },
    });
  } finally {
    await database?.drop();
    await Deno.remove(folder, { recursive: true });
  }
}

/** The model that `flatPrices` has a price for. */
export const flatModel = "gpt-4.1";

/**
 * Writes a `PRICES_FILE` with a price per request, and `others`. With none, a call's highest cost is
 * its cost.
 */
export async function flatPrices(
  usd: string,
  model = `vendor-b/${flatModel}`,
  others: Readonly<Record<string, string>> = {},
): Promise<string> {
  const path = await Deno.makeTempFile({ prefix: "prices-", suffix: ".json" });
  await Deno.writeTextFile(
    path,
    JSON.stringify({ [model]: { per_request: usd, ...others } }),
  );
  globalThis.addEventListener("unload", () => Deno.removeSync(path));
  return path;
}

/** A vendor-b whose answers to `[hold]` stop after their first words until `release` is called. */
export interface PayingVendor extends FakeVendor {
  readonly env: Readonly<Record<string, string>>;
  /** Number of calls to a model so far. */
  readonly calls: number;
  /** Lets all held answers end, including later ones. */
  release(): void;
}

export async function startPayingVendor(): Promise<PayingVendor> {
  const gate = Promise.withResolvers<void>();
  let calls = 0;
  const vendor = await startFakeVendor(async (exchange) => {
    if (exchange.request.method === "GET") return await exchange.answer(200, { data: [] });
    calls++;
    const held = exchange.request.body.includes("[hold]") ? gate.promise : undefined;
    if (exchange.request.body.includes("[fail]")) {
      return await exchange.answer(400, { error: { message: "No." } });
    }
    if (JSON.parse(exchange.request.body).stream === true) return await streamed(exchange, held);
    await held;
    await exchange.answer(200, wholeAnswer);
  });
  return Object.defineProperties(vendor as PayingVendor, {
    env: {
      value: {
        VENDOR_B_BASE_URL: `${vendor.url}/v1`,
        VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789",
      },
    },
    calls: { get: () => calls },
    release: { value: gate.resolve },
  });
}

async function streamed(exchange: FakeExchange, held: Promise<void> | undefined): Promise<void> {
  await exchange.head(200, { "content-type": "text/event-stream" });
  const [first, words, ...rest] = streamEvents;
  await exchange.write(first!);
  await exchange.write(words!);
  await held;
  for (const event of rest) await exchange.write(event);
  await exchange.end();
}

export const chatPath = "/vendor-b/v1/chat/completions";

/** The body of a call; `text` may contain the vendor's marks, `[hold]` and `[fail]`. */
export function chatBody(text = "How are you today?", more: Record<string, unknown> = {}) {
  return { model: flatModel, messages: [{ role: "user", content: text }], ...more };
}

/** Returns functions that call a process of the service with this key. */
export function asked(service: Pick<ServiceProcess, "baseUrl">, key: string) {
  return calls({ baseUrl: service.baseUrl, key });
}

export interface Outcome {
  status: number;
  /** The error's code; undefined if the answer isn't an error, as are `type` and `message`. */
  code: string | undefined;
  type: string | undefined;
  message: string | undefined;
  text: string;
}

export async function outcomeOf(answer: Response): Promise<Outcome> {
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.includes("json") === true;
  const error = isJson ? JSON.parse(text).error : undefined;
  const { code, type, message } = error ?? {};
  return { status: answer.status, code, type, message, text };
}

/** Checks that all sums agree with the ledger's entries; returns the balance in nano-dollars. */
export async function soundBalance(site: Site, accountId = 1): Promise<bigint> {
  return await site.query(async (database) => {
    const ledger = createLedger(database);
    assert.deepEqual(await ledger.check(), [], "sums agree with the entries");
    const [row] = await database.query(
      `select coalesce(sum(amount_nanos), 0)::bigint as sum from ledger_entries
       where account_id = $1 and kind in ('grant', 'settle', 'adjust')`,
      [accountId],
    );
    const { balanceNanos } = await ledger.show(accountId);
    assert.equal(balanceNanos, row!.sum, "the balance is the sum of its entries");
    return balanceNanos;
  });
}
