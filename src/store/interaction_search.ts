import type { DeskPage, DeskQuery } from "../domain/interaction_desk.ts";
import type { InteractionSummary } from "../domain/interaction.ts";
import { type SearchTerms, searchTerms, spanMs, spanOf, termKeys } from "../domain/search_words.ts";
import type { Queryable, SqlValue } from "./database.ts";
import { listInteractions, narrow } from "./interactions_list.ts";
import { where } from "./interactions_read.ts";
import { type RowName, rowsNamed } from "./rows_named.ts";
import { storable } from "./storable.ts";

/** The newest rows that meet the other filters, which are looked through first. */
const firstRows = 150;
/** Rows with the words that are found at once. */
const maxFound = 1000;
/** Of them what a page holds against other filters before it ends, to go on when it is asked to. */
const maxLooked = 400;
const maxSteps = 12;
/** Spans that are looked through at once: half a day at first, a hundred days at most. */
const firstSpans = 3;
const maxSpans = 600;

/**
 * One page of the rows that say some words, newest first. Common words are met among the newest
 * rows; others come out of the index of words, span by span, in steps that grow while little is
 * found. So neither the number of rows nor how often a word was said decides how long it takes.
 */
export async function searchInteractions(
  database: Queryable,
  query: DeskQuery,
  search: string,
): Promise<DeskPage> {
  const terms = searchTerms(storable(search));
  if (terms.words.length === 0) return { rows: [] };
  const searcher = new Searcher(database, { ...query, order: "newest" }, terms);
  return await searcher.page();
}

class Searcher {
  readonly #database: Queryable;
  readonly #query: DeskQuery;
  readonly #terms: SearchTerms;
  readonly #rows: InteractionSummary[] = [];

  constructor(database: Queryable, query: DeskQuery, terms: SearchTerms) {
    this.#database = database;
    this.#query = query;
    this.#terms = terms;
  }

  async page(): Promise<DeskPage> {
    const [place, bottom] = await Promise.all([this.#newest(), this.#bottom()]);
    if (place === undefined || bottom === undefined || this.#isFull) return this.#whole();
    return await (this.#hasFilters ? this.#amongFiltered(place, bottom) : this.#all(place, bottom));
  }

  get #isFull(): boolean {
    return this.#missing <= 0;
  }

  /** How many rows the page still takes, with the one that tells that there are more. */
  get #missing(): number {
    return this.#query.limit + 1 - this.#rows.length;
  }

  /** Rows that are found at once. */
  get #most(): number {
    return this.#hasFilters ? maxLooked : maxFound;
  }

  get #hasFilters(): boolean {
    const { filters, costNanos, latencyMs } = this.#query;
    return Object.keys(filters ?? {}).length > 0 || costNanos !== undefined ||
      latencyMs !== undefined;
  }

  #whole(): DeskPage {
    const { limit } = this.#query;
    const rows = this.#rows.slice(0, limit);
    const last = rows.at(-1);
    return { rows, ...(this.#isFull && last ? { next: last } : {}) };
  }

  /** Looks through the newest rows; undefined when there are no others. */
  async #newest(): Promise<RowName | undefined> {
    // Limits of cost and time are for later: they would be walked for.
    const { search: _, costNanos: _cost, latencyMs: _latency, ...query } = this.#query;
    const { rows, next } = await listInteractions(this.#database, { ...query, limit: firstRows });
    const saying = await this.#saying(rows);
    this.#rows.push(
      ...rows.filter((row) => saying.has(row.transactionId) && isWithin(row, this.#query)),
    );
    return next;
  }

  /** Which of these rows say the words. */
  async #saying(rows: readonly InteractionSummary[]): Promise<Set<string>> {
    if (rows.length === 0) return new Set();
    const spans = [...new Set(rows.map(({ createdAt }) => spanOf(createdAt)))];
    const values: SqlValue[] = [
      rows.map(({ transactionId }) => transactionId),
      rows.map(({ createdAt }) => createdAt.toISOString()),
    ];
    const bind = (value: SqlValue) => `$${values.push(value)}`;
    const said = this.#terms.words.map((word) =>
      `p.words && ${bind(termKeys(this.#query.accountId, spans, word))}::bigint[]`
    );
    // As a value of each row, not as a join, which may read all payloads for it; and by the row's
    // id: `is true` keeps the index of words out of it.
    const found = await this.#database.query(
      `select named.transaction_id from unnest($1::text[], $2::timestamptz[])
         as named(transaction_id, created_at)
       where (
         select (${[...said, ...this.#phrases(bind)].join(" and ")}) is true
         from interaction_payloads p
         where p.transaction_id = named.transaction_id and p.created_at = named.created_at
       )`,
      values,
      { planAnew: true },
    );
    return new Set(found.map((row) => String(row.transaction_id)));
  }

  /** The words alone narrow the list: what says them is what is shown. */
  async #all(from: RowName, bottom: Date): Promise<DeskPage> {
    const names: RowName[] = [];
    const end = await this.#walk(from, bottom, (found) => {
      names.push(...found);
      return Promise.resolve(names.length >= this.#missing);
    });
    const shown = names.slice(0, this.#missing);
    this.#rows.push(...await rowsNamed(this.#database, this.#query.accountId, shown));
    return this.#ended(end);
  }

  /** Of the rows that say the words some meet the other filters. */
  async #amongFiltered(from: RowName, bottom: Date): Promise<DeskPage> {
    let looked = 0;
    const end = await this.#walk(from, bottom, async (found) => {
      this.#rows.push(...await this.#meeting(found));
      looked += found.length;
      return this.#isFull || looked >= maxLooked;
    });
    return this.#ended(end);
  }

  #ended(end: RowName | undefined): DeskPage {
    if (end === undefined || this.#isFull) return this.#whole();
    return { rows: this.#rows, next: end, lookedTo: end.createdAt };
  }

  /**
   * Gives the rows that say the words, newest first, until `take` says that it is enough. Undefined
   * when there are no more, else where it ended.
   */
  async #walk(
    from: RowName,
    bottom: Date,
    take: (found: readonly RowName[]) => Promise<boolean>,
  ): Promise<RowName | undefined> {
    let place = from;
    let spans = firstSpans;
    for (let step = 0; step < maxSteps; step++) {
      if (isBelow(place, bottom)) return undefined;
      const lowest = new Date((spanBeyond(place) - spans + 1) * spanMs);
      const found = await this.#found(place, lowest);
      const isEnough = await take(found);
      place = found.length < this.#most
        ? { createdAt: lowest, transactionId: beforeAll }
        : found.at(-1)!;
      if (isEnough) return place;
      spans = Math.min(maxSpans, spans * growth(found.length));
    }
    return place;
  }

  /** When the oldest row that can be meant was made. */
  async #bottom(): Promise<Date | undefined> {
    const { accountId, start } = this.#query;
    const [row] = await this.#database.query(
      `select created_at from interactions where account_id = $1
       order by account_id, created_at, transaction_id limit 1`,
      [accountId],
      { planAnew: true },
    );
    const oldest = row?.created_at as Date | undefined;
    return oldest && start && start > oldest ? start : oldest;
  }

  /**
   * Rows with the words between two times, newest first. Span by span, each with a limit of its
   * own, which keeps the planner to it: for the keys of many spans at once it would rather read the
   * whole table.
   */
  async #found(place: RowName, lowest: Date): Promise<RowName[]> {
    const { accountId } = this.#query;
    const spans: number[] = [];
    for (let span = spanOf(lowest); span <= spanBeyond(place); span++) spans.push(span);
    const values: SqlValue[] = [place.createdAt, place.transactionId];
    const bind = (value: SqlValue) => `$${values.push(value)}`;
    const starts = `${
      bind(spans.map((span) => new Date(span * spanMs).toISOString()))
    }::timestamptz[]`;
    const keys = this.#terms.words.map((word) =>
      `${bind(termKeys(accountId, spans, word))}::bigint[]`
    );
    const names = keys.map((_, at) => `key${at}`);
    const found = await this.#database.query(
      `select p.transaction_id, p.created_at
       from unnest(${[starts, ...keys].join(", ")}) as span(start, ${names.join(", ")})
       cross join lateral (
         select p.transaction_id, p.created_at from interaction_payloads p
         where p.words @> array[${names.map((name) => `span.${name}`).join(", ")}]
           and p.created_at >= span.start and p.created_at < span.start + interval '${spanMs} ms'
           and p.created_at <= $1 and (p.created_at, p.transaction_id) < ($1, $2)
           ${this.#query.start ? `and p.created_at >= ${bind(this.#query.start)}` : ""}
           ${this.#phrases(bind).map((one) => `and ${one}`).join(" ")}
         order by p.created_at desc, p.transaction_id desc limit ${this.#most}
       ) as p
       order by p.created_at desc, p.transaction_id desc limit ${this.#most}`,
      values,
      { planAnew: true },
    );
    return found.map((row) => ({
      transactionId: String(row.transaction_id),
      createdAt: row.created_at as Date,
    }));
  }

  /** Of found rows those that meet the other filters; no more than the page still takes. */
  async #meeting(found: readonly RowName[]): Promise<InteractionSummary[]> {
    const { after: _, ...query } = this.#query;
    const { conditions, values } = where(query);
    narrow(query, conditions, (value) => `$${values.push(value)}`);
    const missing = this.#missing;
    const rows: InteractionSummary[] = [];
    for (let at = 0, size = missing; at < found.length && rows.length < missing; size *= 2) {
      const portion = found.slice(at, at + size);
      rows.push(
        ...await rowsNamed(this.#database, query.accountId, portion, { conditions, values }),
      );
      at += portion.length;
    }
    return rows.slice(0, missing);
  }

  /** Conditions on `p` that it says what was searched for in quotes. */
  #phrases(bind: (value: SqlValue) => string): string[] {
    return this.#terms.phrases.map((phrase) => {
      const written = [...new Set([escaped(phrase), asciiOf(escaped(phrase))])];
      const among = bind(written.map((one) => `%${one.replace(/[\\%_]/g, "\\$&")}%`));
      return `(p.request ilike any(${among}::text[]) or p.response ilike any(${among}::text[]))`;
    });
  }
}

/** In front of every id. */
const beforeAll = "";

/** Whether nothing lies beyond a place that was made at this time or later. */
function isBelow({ createdAt, transactionId }: RowName, bottom: Date): boolean {
  return createdAt < bottom || (transactionId === beforeAll && createdAt <= bottom);
}

/** The newest span that holds rows beyond a place. */
function spanBeyond({ createdAt, transactionId }: RowName): number {
  return spanOf(transactionId === beforeAll ? new Date(createdAt.getTime() - 1) : createdAt);
}

function isWithin(row: InteractionSummary, { costNanos, latencyMs }: DeskQuery): boolean {
  const { min, max } = costNanos ?? {};
  const cost = row.costNanos;
  if (min !== undefined && (cost === null || cost < min)) return false;
  if (max !== undefined && (cost === null || cost > max)) return false;
  if (latencyMs?.min !== undefined && row.latencyMs < latencyMs.min) return false;
  return latencyMs?.max === undefined || row.latencyMs <= latencyMs.max;
}

/** The more was found, the smaller the next step. */
function growth(found: number): number {
  return found === 0 ? 8 : found < 10 ? 6 : found < 50 ? 3 : 1;
}

/** As JSON has it inside a string. */
function escaped(phrase: string): string {
  return JSON.stringify(phrase).slice(1, -1);
}

/** As writers have it that leave nothing but ASCII. */
function asciiOf(text: string): string {
  return text.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
