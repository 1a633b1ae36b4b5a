import type { Queryable } from "../../database/database.ts";
import { codeOf } from "../../database/postgres/faults.ts";

/**
 * The months whose partitions this process knows to be there. Rows of other months, however late
 * they come, get theirs before they are written.
 */
export class Partitions {
  readonly #database: Queryable;
  readonly #known = new Set<string>();

  constructor(database: Queryable) {
    this.#database = database;
  }

  /**
   * Runs `write`, whose rows are these; once more where a partition was dropped meanwhile (its
   * rows were too old, and so are these). `write` must be all or nothing.
   */
  async writing<T>(
    rows: readonly { createdAt: Date }[],
    write: () => Promise<T>,
  ): Promise<T> {
    await this.#open(rows);
    try {
      return await write();
    } catch (thrown) {
      if (codeOf(thrown) !== noPartition) throw thrown;
      this.#known.clear();
      await this.#open(rows);
      return await write();
    }
  }

  async #open(rows: readonly { createdAt: Date }[]): Promise<void> {
    for (const { createdAt } of rows) {
      const month = createdAt.toISOString().slice(0, -"-21T00:00:00.000Z".length);
      if (this.#known.has(month)) continue;
      await this.#database.query("select open_month($1)", [createdAt]);
      this.#known.add(month);
    }
  }
}

/** A row that no partition takes is a check's violation (PostgreSQL's manual, "Error Codes"). */
const noPartition = "23514";
