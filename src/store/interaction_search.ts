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
/** Rows with the words that are held against the other filters at once. */
const maxFound = 1000;
/** Of a page: what it looks at before it ends, to go on when it is asked to. */
const maxLooked = 4000;
const maxSteps = 12;
/** Spans that are looked through at once. */
const maxSpans = 200;

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
    const place = await this.#newest();
    if (place === undefined || this.#isFull) return this.#whole();
    return await this.#further(place);
  }

  get #isFull(): boolean {
    return this.#rows.length > this.#query.limit;
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
    const found = await this.#database.query(
      `select named.transaction_id from unnest($1::text[], $2::timestamptz[])
         as named(transaction_id, created_at)
       cross join lateral (
         select from interaction_payloads p where p.transaction_id = named.transaction_id
           and p.created_at = named.created_at and (${this.#saidIn(spans, values)}) is true
       ) as p`,
      values,
      { planAnew: true },
    );
    return new Set(found.map((row) => String(row.transaction_id)));
  }

  async #further(from: RowName): Promise<DeskPage> {
    const bottom = await this.#bottom();
    let place = from;
    let spans = 1;
    let looked = 0;
    for (let step = 0; step < maxSteps && looked < maxLooked; step++) {
      if (bottom === undefined || isBelow(place, bottom)) return this.#whole();
      const lowest = new Date((spanBeyond(place) - spans + 1) * spanMs);
      const found = await this.#found(place, lowest);
      this.#rows.push(...await this.#meeting(found));
      if (this.#isFull) return this.#whole();
      looked += found.length;
      place = found.length < maxFound
        ? { createdAt: lowest, transactionId: beforeAll }
        : found.at(-1)!;
      spans = Math.min(maxSpans, found.length === 0 ? spans * 8 : spans * growth(found.length));
    }
    return { rows: this.#rows, next: place, lookedTo: place.createdAt };
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

  /** Rows with the words between two times, newest first. */
  async #found(place: RowName, lowest: Date): Promise<RowName[]> {
    const spans: number[] = [];
    for (let span = spanOf(lowest); span <= spanBeyond(place); span++) spans.push(span);
    const values: SqlValue[] = [lowest, place.createdAt, place.transactionId];
    const found = await this.#database.query(
      `select p.transaction_id, p.created_at from interaction_payloads p
       where ${this.#saidIn(spans, values)} and p.created_at >= $1 and p.created_at <= $2
         and (p.created_at, p.transaction_id) < ($2, $3)
       order by p.created_at desc, p.transaction_id desc limit ${maxFound}`,
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
    const missing = this.#query.limit + 1 - this.#rows.length;
    const rows: InteractionSummary[] = [];
    // Without other filters the first portion is enough.
    for (let at = 0, size = missing; at < found.length && rows.length < missing; size *= 2) {
      const portion = found.slice(at, at + size);
      rows.push(
        ...await rowsNamed(this.#database, query.accountId, portion, { conditions, values }),
      );
      at += portion.length;
    }
    return rows.slice(0, missing);
  }

  /** Condition on `p` that it says all words, in one of these spans, and every phrase. */
  #saidIn(spans: readonly number[], values: SqlValue[]): string {
    const { accountId } = this.#query;
    const bind = (value: SqlValue) => `$${values.push(value)}`;
    const said = this.#terms.words.map((word) =>
      `p.words && ${bind(termKeys(accountId, spans, word))}::bigint[]`
    );
    const runs = this.#terms.phrases.map((phrase) => {
      const written = [...new Set([escaped(phrase), asciiOf(escaped(phrase))])];
      const among = bind(written.map((one) => `%${one.replace(/[\\%_]/g, "\\$&")}%`));
      return `(p.request ilike any(${among}::text[]) or p.response ilike any(${among}::text[]))`;
    });
    return [...said, ...runs].join(" and ");
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
  return found < 10 ? 6 : found < 50 ? 3 : 1;
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
