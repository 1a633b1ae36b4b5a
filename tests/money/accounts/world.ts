import assert from "@std/assert";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { openPostgres } from "../../../src/database/postgres/postgres.ts";
import type { Queryable } from "../../../src/database/database.ts";
import { type ScriptedVendors, startScriptedVendors } from "../../faults/whole_calls/vendor.ts";
import { priceTables } from "../../faults/whole_calls/world.ts";
import { createMigrated } from "../../support/databases.ts";
import { mix } from "./steps.ts";
import { startTestService, type TestService } from "../../support/service.ts";

/** `split`: two processes on PostgreSQL, with a database of calls; `embedded`: one process. */
export type Kind = "split" | "embedded";

/** Services of this process, which run by one clock that tests set forward. */
export interface World extends AsyncDisposable {
  readonly services: readonly TestService[];
  readonly vendors: ScriptedVendors;
  readonly database: Queryable | undefined;
  now(): Date;
  /** Sets the clock to the start of the next day, or month, in UTC. */
  turn(per: "day" | "month"): void;
  /** Writes the table into the file of prices, which a repricing reads. */
  setPrices(table: number): Promise<void>;
  /** Ends some sessions of the databases, so that nobody learns what became of a statement. */
  cut(): Promise<void>;
  /** Asks one of the services as the operator; fails unless the answer is 200. */
  admin<T>(method: string, path: string, body?: unknown, requestId?: string): Promise<T>;
}

/** A clock that can be set forward; the time between moments passes as it does. */
class SetClock implements Clock {
  #aheadMs = 0;
  readonly monotonicMs = systemClock.monotonicMs;

  constructor() {
    // Noon: a history that begins shortly before midnight would turn the day itself.
    const noon = new Date();
    noon.setUTCHours(12, 0, 0, 0);
    this.set(noon);
  }

  readonly now = (): Date => new Date(Date.now() + this.#aheadMs);

  set(to: Date): void {
    this.#aheadMs = to.getTime() - Date.now();
  }
}

export async function openWorld(kind: Kind): Promise<World> {
  await using opening = new AsyncDisposableStack();
  const clock = new SetClock();
  const vendors = opening.use(await startScriptedVendors());
  const folder = await Deno.makeTempDir({ prefix: "gateway-accounts-" });
  opening.defer(() => Deno.remove(folder, { recursive: true }));
  const setPrices = (table: number) =>
    Deno.writeTextFile(`${folder}/prices.json`, JSON.stringify(priceTables[table]));
  await setPrices(0);
  await Deno.writeTextFile(`${folder}/models.json`, JSON.stringify(mix));
  const created = kind === "embedded" ? [] : [await createMigrated(), await createMigrated()];
  for (const each of created) opening.defer(() => each.drop());
  const databases = await Promise.all(created.map(({ url }) => openPostgres(url)));
  for (const each of databases) opening.defer(() => each.close());
  const env = {
    ...Object.fromEntries(["b", "c", "d"].flatMap((letter) => [
      [`VENDOR_${letter.toUpperCase()}_BASE_URL`, `${vendors.url}/vendor-${letter}/v1`],
      [`VENDOR_${letter.toUpperCase()}_API_KEY`, "sk-secret"],
    ])),
    PRICES_FILE: `${folder}/prices.json`,
    MODELS_FILE: `${folder}/models.json`,
    MASTER_KEY: btoa("k".repeat(32)),
    ...created[0] ? { DATABASE_URL: created[0].url } : {},
    ...created[1] ? { ANALYTICS_DATABASE_URL: created[1].url } : {},
  };
  const services: TestService[] = [];
  for (let left = kind === "embedded" ? 1 : 2; left > 0; left--) {
    const database = kind === "embedded" ? { database: kind } as const : {};
    services.push(opening.use(await startTestService({ env, clock, ...database })));
  }
  const made = await services[0]!.createKey("--scope", "admin");
  const stack = opening.move();
  let asked = 0;
  return {
    services,
    vendors,
    database: databases[0],
    now: clock.now,
    turn(per) {
      const to = clock.now();
      to.setUTCHours(0, 0, 0, 0);
      if (per === "day") to.setUTCDate(to.getUTCDate() + 1);
      else to.setUTCMonth(to.getUTCMonth() + 1, 1);
      clock.set(to);
    },
    setPrices,
    async cut() {
      await Promise.all(databases.map((database) =>
        database.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()
             and backend_type = 'client backend'`,
          [],
        )
      ));
    },
    admin: (method, path, body, requestId) =>
      askUntilAnswered(services[asked++ % services.length]!, made.key, {
        ...{ method, path, body },
        ...requestId === undefined ? {} : { requestId },
      }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Repeats a request, which changes nothing the second time, while the database is away. */
export async function askUntilAnswered<T>(
  service: TestService,
  key: string,
  ask: { method: string; path: string; body?: unknown; requestId?: string },
): Promise<T> {
  for (let left = 300;; left--) {
    const answer = await service.fetch(ask.path, {
      method: ask.method,
      headers: {
        authorization: `Bearer ${key}`,
        ...ask.body === undefined ? {} : { "content-type": "application/json" },
        ...ask.requestId === undefined ? {} : { "x-request-id": ask.requestId },
      },
      ...ask.body === undefined ? {} : { body: JSON.stringify(ask.body) },
    });
    const text = await answer.text();
    if (answer.status === 200) return JSON.parse(text) as T;
    const isLate = answer.status === 503 || answer.status === 409;
    assert.ok(isLate && left > 0, `${ask.method} ${ask.path}: ${answer.status} ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
