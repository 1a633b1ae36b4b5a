import { systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { completeBackfills, startBackfill } from "./backfill.ts";
import { buildIndex, plainIndex } from "./build_index.ts";
import type { Database, Queryable } from "./database.ts";
import type { Migration } from "./migration_file.ts";
import { codeOf } from "./postgres/faults.ts";
import {
  checkCompatible,
  prepareSchema,
  readSchemaVersion,
  recordStep,
  type SchemaVersion,
} from "./schema_version.ts";
import { whenUnlocked } from "./when_unlocked.ts";

export interface MigrateOptions {
  log?: Pick<Log, "info" | "warn">;
  /** How long a step waits for a lock; later queries queue behind it. */
  lockTimeoutMs?: number;
  /** Max attempts of a step, and the pause between them. */
  attempts?: number;
  pauseMs?: number;
  /** How long to wait for another process that is migrating. */
  turnMs?: number;
}

/** Key of the advisory lock that the migrating process holds. */
const migrationLock = 7_305_112_604_915;

/**
 * Brings the schema up to date, each step in its own transaction; returns the names of the applied
 * steps. If several processes start at once, one migrates and the others wait. Throws an Error of one
 * line if this program is incompatible with the database, a step's text has changed, or locks keep a
 * step waiting for too long: applied steps stay, and the next start continues.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  options: MigrateOptions = {},
): Promise<string[]> {
  const run = new MigrationRun(database, migrations, options);
  if ((await run.missing()).length === 0) return [];
  return await run.inTurn(async () => {
    const missing = await run.missing();
    for (const step of missing) await run.apply(step, missing.length === migrations.length);
    return missing.map(({ name }) => name);
  });
}

class MigrationRun {
  readonly #log: Pick<Log, "info" | "warn">;
  readonly #timeouts: Required<Omit<MigrateOptions, "log">>;

  constructor(
    readonly database: Database,
    readonly migrations: readonly Migration[],
    { log = { info() {}, warn() {} }, ...lockWait }: MigrateOptions,
  ) {
    this.#log = log;
    this.#timeouts = {
      ...{ lockTimeoutMs: 3000, attempts: 40, pauseMs: 2000, turnMs: 10 * 60_000 },
      ...lockWait,
    };
  }

  /** The steps that aren't applied yet. */
  async missing(): Promise<Migration[]> {
    // A copy to this database has locked its tables.
    const schema: SchemaVersion = await whenUnlocked(() => readSchemaVersion(this.database));
    checkCompatible(schema, this.migrations);
    return this.migrations.filter(({ version }) => !schema.applied.has(version));
  }

  /**
   * Takes the lock by polling. A statement that waits for the lock holds a snapshot; a concurrent
   * index build of the lock's owner waits for all snapshots to end: a deadlock.
   */
  async inTurn(work: () => Promise<string[]>): Promise<string[]> {
    // The embedded database has one owner, and an open transaction would block everything else.
    if (this.database.kind === "embedded") return await work();
    const began = systemClock.monotonicMs();
    for (let attempt = 1;; attempt++) {
      const applied = await this.database.transaction(async (tx) => {
        // Without bound values: their portal would stay open and hold a snapshot too.
        const [row] = await tx.query(`select pg_try_advisory_xact_lock(${migrationLock}) as mine`);
        return row?.mine === true ? await whileHeld(tx, work) : undefined;
      });
      if (applied) return applied;
      if ((await this.missing()).length === 0) return [];
      if (attempt === 1) this.#log.info("another process migrates the database; waiting for it");
      if (systemClock.monotonicMs() - began > this.#timeouts.turnMs) {
        throw new Error(
          `Another process has been migrating the database for ${
            Math.round(this.#timeouts.turnMs / 1000)
          } s: start again when it has ended.`,
        );
      }
      await pause(200);
    }
  }

  /** `isNew`: the database is created, not migrated, so its steps aren't logged. */
  async apply(step: Migration, isNew: boolean): Promise<void> {
    const { version, name } = step;
    if (!isNew) this.#log.info("migrating the database", { step: version, name });
    if (step.phase === "contract") {
      const earlier = this.migrations.filter((other) => other.version < version);
      await completeBackfills(this.database, earlier);
    }
    if (step.indexes && this.database.kind === "postgres") {
      for (const index of step.indexes) {
        await buildIndex(
          this.database,
          index,
          (statement) => this.#withLocks(step, (tx) => tx.query(statement)),
        );
      }
    }
    await this.#withLocks(step, async (tx) => {
      await prepareSchema(tx);
      await this.#change(tx, step);
      await recordStep(tx, step);
    });
  }

  async #change(tx: Queryable, step: Migration): Promise<void> {
    if (step.phase === "backfill") return await startBackfill(tx, step);
    if (!step.indexes) return void await tx.query(step.sql);
    if (this.database.kind === "postgres") return;
    for (const index of step.indexes) await tx.query(plainIndex(index));
  }

  /** Runs a transaction with `lock_timeout`, and retries, so that others don't queue behind it. */
  async #withLocks(step: Migration, change: (tx: Queryable) => Promise<unknown>): Promise<void> {
    const { lockTimeoutMs, attempts, pauseMs } = this.#timeouts;
    const { version, name } = step;
    for (let attempt = 1;; attempt++) {
      try {
        return await this.database.transaction(async (tx) => {
          await tx.query(`set local lock_timeout = ${lockTimeoutMs}`);
          await change(tx);
        });
      } catch (thrown) {
        if (!retried.includes(codeOf(thrown) ?? "")) throw thrown;
        if (attempt >= attempts) {
          throw new Error(
            `The migration ${version} ${name} found its tables locked by others ${attempts} times: end their long transactions (pg_stat_activity shows them), and start again.`,
          );
        }
        const fields = { step: version, name, attempt, of: attempts };
        this.#log.warn("a migration waits for locks; retrying", fields);
        await pause(pauseMs);
      }
    }
  }
}

/** SQLSTATEs: lock not available, deadlock (PostgreSQL's manual, "Error Codes"). */
const retried = ["55P03", "40P01"];

/**
 * Keeps a transaction's session alive during `work`: the server ends a session that is silent for a
 * minute, and with it the lock.
 */
async function whileHeld<T>(tx: Queryable, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => void tx.query("select 1").catch(() => {}), heldMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

const heldMs = 15_000;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
