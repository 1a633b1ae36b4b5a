import { createGcHint, released } from "../../base/gc_hint.ts";
import { pushAll } from "../../base/lists.ts";
import type { Database } from "../../database/database.ts";
import { codeOf } from "../../database/postgres/faults.ts";
import { openPostgres } from "../../database/postgres/postgres.ts";
import { Fault, isStoreAway, messageOf } from "../../shared/fault.ts";
import type { InsertOptions, InteractionStore, SettledCall } from "../../shared/interaction.ts";
import { mediaBytes } from "../../shared/media.ts";
import { quotedTextsOf } from "../quoted_texts.ts";
import { weigh } from "../record_queue.ts";
import { createAnalyticsWriter } from "./analytics_writer.ts";
import { createRecordInsert } from "./record_insert.ts";

/**
 * Part of a batch of records, for the thread that writes them. Batches are sent in parts, since a
 * message to another thread is serialized in one turn of the event loop.
 */
export interface WritePart {
  /** Number of the batch. Its parts follow each other. */
  batch: number;
  rows: readonly SettledCall[];
  /** Only in the last part, which starts the write: the number of rows of the whole batch. */
  rowsInAll?: number;
  urls: WriteUrls;
  options?: InsertOptions | undefined;
}

export interface WriteUrls {
  /** URL of the database that holds accounts and money; absent: it is embedded. */
  main?: string | undefined;
  /** URL of the database that holds the rows; absent or the same: they are in `main`. */
  analytics?: string | undefined;
}

/** `dropped`: calls that were erased while they were under way, and so are not written. */
export type Written =
  | { ok: true; dropped: readonly string[] }
  | {
    ok: false;
    message: string;
    note: string | undefined;
    /** The result of `codeOf`. */
    code: string | undefined;
    isStoreAway: boolean;
  };

/**
 * After records of this weight a minor GC runs between two batches, when next to nothing has to be
 * copied.
 */
const gcHintEveryUnits = 1024 * 1024;
/** After this much media a major GC runs: copies made on its way survive minor ones. */
const gcHintEveryMediaBytes = 8 * 1024 * 1024;

/** The work of the writing thread. */
export interface WriteWork {
  write(part: WritePart): Promise<Written>;
  /** Closes the databases that it has opened, and forgets an incomplete batch. */
  close(): Promise<void>;
}

/**
 * `embedded`: the database in whose thread this runs; others are opened when they are first written
 * to.
 */
export function createWriteWork(embedded?: Database): WriteWork {
  const stores = new WriteStores(embedded);
  const rowsHint = createGcHint(gcHintEveryUnits);
  const mediaHint = createGcHint(gcHintEveryMediaBytes, "major");
  let open: { batch: number; rows: SettledCall[] } | undefined;
  const takePart = async (part: WritePart): Promise<Written> => {
    const { batch, rows: some, rowsInAll, urls, options } = part;
    // A batch whose last part is missing when the next one begins is given up.
    if (open?.batch !== batch) open = { batch, rows: [] };
    const { rows } = open;
    pushAll(rows, some);
    if (rowsInAll === undefined) return { ok: true, dropped: [] };
    open = undefined;
    try {
      // The first parts went to a thread that has been replaced by this one.
      if (rows.length !== rowsInAll) throw away("the thread that writes records was replaced");
      const dropped = await stores.insert(urls, rows, options);
      const media = rows.flatMap(({ media = [] }) => media);
      mediaHint.addReleased(mediaBytes(media));
      // This thread's own copies, which nothing refers to any more; shared memory is no copy.
      for (const { content } of media) released(content);
      for (const text of rows.flatMap((row) => Object.values(quotedTextsOf(row) ?? {}))) {
        released(text);
      }
      return { ok: true, dropped };
    } catch (thrown) {
      const note = thrown instanceof Fault ? thrown.note : undefined;
      const [message, code] = [messageOf(thrown), codeOf(thrown)];
      return { ok: false, message, note, code, isStoreAway: isStoreAway(thrown) };
    }
  };
  let units = 0;
  const write = async (part: WritePart) => {
    for (const row of part.rows) units += weigh(row);
    const written = await takePart(part);
    if (part.rowsInAll === undefined) return written;
    // From here on nothing refers to the batch.
    rowsHint.addReleased(units);
    units = 0;
    return written;
  };
  const close = async () => {
    open = undefined;
    await stores.close();
  };
  return { write, close };
}

/**
 * The databases that this thread writes to. The first batch opens them; if that fails, the next one
 * tries again.
 */
class WriteStores {
  readonly #embedded: Database | undefined;
  #opened: Database[] = [];
  #insert: Promise<InteractionStore["insert"]> | undefined;
  /** The dropped calls of the batch that is being written. */
  #dropped: string[] = [];

  constructor(embedded: Database | undefined) {
    this.#embedded = embedded;
  }

  /** Batches are written one after the other. Returns the ids of calls that were dropped. */
  async insert(
    urls: WriteUrls,
    rows: readonly SettledCall[],
    options?: InsertOptions,
  ): Promise<readonly string[]> {
    const insert = await (this.#insert ??= this.#open(urls));
    this.#dropped = [];
    await insert(rows, options);
    return this.#dropped;
  }

  /** Closes the databases; the next batch opens its own again. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#insert = undefined;
    this.#opened = [];
    await Promise.all(opened.map((database) => database.close()));
  }

  async #open({ main, analytics }: WriteUrls): Promise<InteractionStore["insert"]> {
    try {
      const database = main === undefined
        ? this.#embedded!
        : await this.#openAt(main, "DATABASE_URL");
      const isApart = analytics !== undefined && analytics !== main;
      const rows = !isApart ? database : await this.#openAt(analytics, "ANALYTICS_DATABASE_URL");
      const onDropped = (ids: readonly string[]) => Promise.resolve(pushAll(this.#dropped, ids));
      return createRecordInsert(database, createAnalyticsWriter(rows, database, onDropped));
    } catch (thrown) {
      await this.close();
      // Not a misconfiguration: the service has opened the same databases before.
      throw away(messageOf(thrown), thrown instanceof Error ? thrown.cause : undefined);
    }
  }

  async #openAt(url: string, variable: string): Promise<Database> {
    const database = await openPostgres(url, { variable });
    this.#opened.push(database);
    return database;
  }
}

function away(note: string, cause?: unknown): Fault {
  return new Fault("store_unavailable", { note, cause });
}
