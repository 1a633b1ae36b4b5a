import { createGcHint, released } from "../../base/gc_hint.ts";
import { pushAll } from "../../base/lists.ts";
import type { Database } from "../../database/database.ts";
import { codeOf } from "../../database/postgres/faults.ts";
import { openPostgres } from "../../database/postgres/postgres.ts";
import { Fault, isStoreAway, messageOf } from "../../shared/fault.ts";
import type { InteractionStore, SettledCall } from "../../shared/interaction.ts";
import { mediaBytes } from "../../shared/media.ts";
import { weigh } from "../record_queue.ts";
import { createAnalyticsWriter } from "./analytics_writer.ts";
import { createRecordInsert } from "./record_insert.ts";

/**
 * Part of a batch of records, for the thread that writes them: sent in parts, since a value is made
 * ready for another thread in one turn of the event loop.
 */
export interface WritePart {
  /** Its parts follow each other. */
  batch: number;
  rows: readonly SettledCall[];
  /** How many rows the batch has, in its last part: which has it written. */
  rowsInAll?: number;
  urls: WriteUrls;
}

export interface WriteUrls {
  /** Of the database that holds accounts and money; absent: it is embedded. */
  main?: string | undefined;
  /** Of the database that holds the rows; absent or the same: it is `main`. */
  analytics?: string | undefined;
}

/** `dropped`: calls that were erased while they were under way, and so are not written. */
export type Written =
  | { ok: true; dropped: readonly string[] }
  | {
    ok: false;
    message: string;
    note: string | undefined;
    /** As `codeOf` gives it. */
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

/** What the writing thread does. */
export interface WriteWork {
  write(part: WritePart): Promise<Written>;
  /** Closes what it has opened, and forgets what is left of a batch. */
  close(): Promise<void>;
}

/**
 * `embedded`: the database in whose thread it runs; the others are opened when they are first written
 * to.
 */
export function createWriteWork(embedded?: Database): WriteWork {
  const stores = new WriteStores(embedded);
  const rowsHint = createGcHint(gcHintEveryUnits);
  const mediaHint = createGcHint(gcHintEveryMediaBytes, "major");
  let open: { batch: number; rows: SettledCall[] } | undefined;
  const takePart = async ({ batch, rows: some, rowsInAll, urls }: WritePart): Promise<Written> => {
    // Of a batch that stayed without its last part nothing more will come.
    if (open?.batch !== batch) open = { batch, rows: [] };
    const { rows } = open;
    pushAll(rows, some);
    if (rowsInAll === undefined) return { ok: true, dropped: [] };
    open = undefined;
    try {
      // This thread is another than the one that had the first parts.
      if (rows.length !== rowsInAll) throw away("the thread that writes records was replaced");
      const dropped = await stores.insert(urls, rows);
      const media = rows.flatMap(({ media = [] }) => media);
      mediaHint.left(mediaBytes(media));
      // This thread's own copies, which nothing refers to any more.
      for (const { content } of media) released(content);
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
    // Here nothing refers to the batch any more.
    rowsHint.left(units);
    units = 0;
    return written;
  };
  const close = async () => {
    open = undefined;
    await stores.close();
  };
  return { write, close };
}

/** What this thread writes to. The first batch opens it; the next one tries again if that failed. */
class WriteStores {
  readonly #embedded: Database | undefined;
  #opened: Database[] = [];
  #insert: Promise<InteractionStore["insert"]> | undefined;
  /** Of the batch that is being written. */
  #dropped: string[] = [];

  constructor(embedded: Database | undefined) {
    this.#embedded = embedded;
  }

  /** Batches are written one after the other. Returns the ids of calls that were dropped. */
  async insert(urls: WriteUrls, rows: readonly SettledCall[]): Promise<readonly string[]> {
    const insert = await (this.#insert ??= this.#open(urls));
    this.#dropped = [];
    await insert(rows);
    return this.#dropped;
  }

  /** What is written next opens what it names. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#insert = undefined;
    this.#opened = [];
    await Promise.all(opened.map((database) => database.close()));
  }

  async #open({ main, analytics }: WriteUrls): Promise<InteractionStore["insert"]> {
    try {
      const database = main === undefined ? this.#embedded! : await this.#openAt(main);
      const isApart = analytics !== undefined && analytics !== main;
      const rows = !isApart ? database : await this.#openAt(analytics);
      const onDropped = (ids: readonly string[]) => Promise.resolve(pushAll(this.#dropped, ids));
      return createRecordInsert(database, createAnalyticsWriter(rows, database, onDropped));
    } catch (thrown) {
      await this.close();
      // Not a wrong setting: the service has opened the same before.
      throw away(messageOf(thrown), thrown instanceof Error ? thrown.cause : undefined);
    }
  }

  async #openAt(url: string): Promise<Database> {
    const database = await openPostgres(url);
    this.#opened.push(database);
    return database;
  }
}

function away(note: string, cause?: unknown): Fault {
  return new Fault("store_unavailable", { note, cause });
}
