import { pushAll } from "../../base/lists.ts";
import type { InteractionListPage, InteractionPageQuery } from "../interaction_repository.ts";
import type { InteractionSummary } from "../../shared/interaction.ts";
import { type SearchTerms, searchTerms, spanMs, spanOf, termKeys } from "../search_tokens.ts";
import type { Queryable, SqlValue } from "../../database/database.ts";
import { addFilters, listInteractions } from "./interactions_list.ts";
import { interactionConditions } from "../filter_conditions.ts";
import { oldestCall, readCallKey } from "./calls.ts";
import type { CallKey } from "../analytics_store.ts";
import { fetchByKey } from "./fetch_by_key.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/** The newest rows that meet the other filters, which are looked through first. */
const firstRows = 100;
/** Of rows with the words, how many a page holds against other filters, to go on when asked to. */
const maxHeld = 400;
/** The same where payloads have to be read for it. */
const maxRead = 200;
/** Spans that a page looks through: a year. */
const maxSpans = 366 * 6;
/** Spans that are looked up at once: half a day. What one lookup finds is read whole. */
const lookupSpans = 3;

/**
 * One page of the rows that say some words, newest first. Common words are met among the newest
 * rows; others come out of the index of words, which is read from the newest span on until enough is
 * found. So neither the number of rows nor how often a word was said decides how long it takes.
 */
export async function searchInteractions(
  database: Queryable,
  query: InteractionPageQuery,
  search: string,
): Promise<InteractionListPage> {
  const terms = searchTerms(sanitizeText(search));
  if (terms.tokens.length === 0) return { rows: [] };
  const searcher = new Searcher(database, { ...query, order: "newest" }, terms);
  return await searcher.page();
}

class Searcher {
  readonly #database: Queryable;
  readonly #query: InteractionPageQuery;
  readonly #terms: SearchTerms;
  readonly #rows: InteractionSummary[] = [];

  constructor(database: Queryable, query: InteractionPageQuery, terms: SearchTerms) {
    this.#database = database;
    this.#query = query;
    this.#terms = terms;
  }

  async page(): Promise<InteractionListPage> {
    const [cursor, bottom] = await Promise.all([this.#newest(), this.#bottom()]);
    if (cursor === undefined || bottom === undefined || this.#isFull) return this.#whole();
    return await this.#among(cursor, bottom);
  }

  get #isFull(): boolean {
    return this.#missing <= 0;
  }

  /** How many rows the page still takes, with the one that tells that there are more. */
  get #missing(): number {
    return this.#query.limit + 1 - this.#rows.length;
  }

  get #hasFilters(): boolean {
    const { filters, costNanos, latencyMs } = this.#query;
    return Object.keys(filters ?? {}).length > 0 || costNanos !== undefined ||
      latencyMs !== undefined;
  }

  #whole(): InteractionListPage {
    const { limit } = this.#query;
    const rows = this.#rows.slice(0, limit);
    const last = rows.at(-1);
    return { rows, ...(this.#isFull && last ? { next: last } : {}) };
  }

  /** Looks through the newest rows; undefined when there are no others. */
  async #newest(): Promise<CallKey | undefined> {
    // Limits of cost and time are for later: they would be walked for.
    const { search: _, costNanos: _cost, latencyMs: _latency, ...query } = this.#query;
    const { rows, next } = await listInteractions(this.#database, { ...query, limit: firstRows });
    const saying = await this.#saying(rows);
    pushAll(
      this.#rows,
      rows.filter((row) => saying.has(row.transactionId) && isWithin(row, this.#query)),
    );
    return next;
  }

  /** Which of these rows say the words. */
  async #saying(rows: readonly CallKey[]): Promise<Set<string>> {
    if (rows.length === 0) return new Set();
    const spans = [...new Set(rows.map(({ createdAt }) => spanOf(createdAt)))];
    const values: SqlValue[] = [
      rows.map(({ transactionId }) => transactionId),
      rows.map(({ createdAt }) => createdAt.toISOString()),
    ];
    const bind = (value: SqlValue) => `$${values.push(value)}`;
    const conditions = this.#terms.tokens.map((word) =>
      `p.words && ${bind(termKeys(this.#query.accountId, spans, word))}::bigint[]`
    );
    // As a value of each row, not as a join, which may read all payloads for it; and by the row's
    // id: `is true` keeps the index of words out of it.
    const found = await this.#database.query(
      `select named.transaction_id from unnest($1::text[], $2::timestamptz[])
         as named(transaction_id, created_at)
       where (
         select (${[...conditions, ...this.#phrases(bind)].join(" and ")}) is true
         from interaction_payloads p
         where p.transaction_id = named.transaction_id and p.created_at = named.created_at
       )`,
      values,
      { forceCustomPlan: true },
    );
    return new Set(found.map((row) => String(row.transaction_id)));
  }

  /** What the index of words has beyond a place. */
  async #among(cursor: CallKey, bottom: Date): Promise<InteractionListPage> {
    if (isBelow(cursor, bottom)) return this.#whole();
    const top = spanBeyond(cursor);
    const lowest = Math.max(spanOf(bottom), top - maxSpans + 1);
    const hasPhrases = this.#terms.phrases.length > 0;
    const most = hasPhrases ? maxRead : this.#hasFilters ? maxHeld : this.#missing;
    const found = await this.#found(cursor, { top, lowest, most });
    pushAll(this.#rows, await this.#meeting(found));
    if (this.#isFull) return this.#whole();
    const end = found.length < most
      ? { createdAt: new Date(lowest * spanMs), transactionId: beforeAll }
      : found.at(-1)!;
    if (isBelow(end, bottom)) return this.#whole();
    return { rows: this.#rows, next: end, searchedBackTo: end.createdAt };
  }

  /** When the oldest row that can be meant was made. */
  async #bottom(): Promise<Date | undefined> {
    const { accountId, start } = this.#query;
    const oldest = await oldestCall(this.#database, accountId);
    return oldest && start && start > oldest ? start : oldest;
  }

  /**
   * The newest rows with the words, down to a span. Lookup by lookup, each with a limit of its own,
   * which keeps the planner to the index: for the keys of many spans at once it would rather read
   * the whole table. Lookups come in their order, so that those after enough are not made.
   */
  async #found(
    cursor: CallKey,
    { top, lowest, most }: { top: number; lowest: number; most: number },
  ): Promise<CallKey[]> {
    const { accountId, start } = this.#query;
    const lookups: number[][] = [];
    for (let from = top; from >= lowest; from -= lookupSpans) {
      const spans = Array.from({ length: lookupSpans }, (_, at) => from - at);
      lookups.push(spans.filter((span) => span >= lowest));
    }
    const values: SqlValue[] = [cursor.createdAt, cursor.transactionId];
    const bind = (value: SqlValue) => `$${values.push(value)}`;
    const arrays = [
      `${bind(lookups.map((spans) => timeOf(spans.at(-1)!)))}::timestamptz[]`,
      `${bind(lookups.map((spans) => timeOf(spans[0]! + 1)))}::timestamptz[]`,
      ...this.#terms.tokens.map((word) =>
        `${bind(lookups.map((spans) => `{${termKeys(accountId, spans, word).join()}}`))}::text[]`
      ),
    ];
    const keys = this.#terms.tokens.map((_, at) => `keys${at}`);
    const found = await this.#database.query(
      `select p.transaction_id, p.created_at
       from (
         select * from unnest(${arrays.join(", ")}) with ordinality
           as lookup(start, until, ${keys.join(", ")}, place) order by place
       ) as lookup
       cross join lateral (
         select p.transaction_id, p.created_at from interaction_payloads p
         where ${keys.map((name) => `p.words && lookup.${name}::bigint[]`).join(" and ")}
           and p.created_at >= lookup.start and p.created_at < lookup.until
           and p.created_at <= $1 and (p.created_at, p.transaction_id) < ($1, $2)
           ${start ? `and p.created_at >= ${bind(start)}` : ""}
         order by p.created_at desc, p.transaction_id desc limit ${most}
       ) as p
       order by lookup.place, p.created_at desc, p.transaction_id desc limit ${most}`,
      values,
      { forceCustomPlan: true },
    );
    return found.map(readCallKey);
  }

  /** Of found rows those that say the phrases and meet the other filters, as far as they fit. */
  async #meeting(found: readonly CallKey[]): Promise<InteractionSummary[]> {
    const saying = this.#terms.phrases.length > 0 ? await this.#saying(found) : undefined;
    const { after: _, ...query } = this.#query;
    const { conditions, values } = interactionConditions(query);
    addFilters(query, conditions, (value) => `$${values.push(value)}`);
    return await fetchByKey(
      this.#database,
      query.accountId,
      saying ? found.filter(({ transactionId }) => saying.has(transactionId)) : found,
      { conditions, values, limit: this.#missing },
    );
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
function isBelow({ createdAt, transactionId }: CallKey, bottom: Date): boolean {
  return createdAt < bottom || (transactionId === beforeAll && createdAt <= bottom);
}

/** The newest span that holds rows beyond a place. */
function spanBeyond({ createdAt, transactionId }: CallKey): number {
  return spanOf(transactionId === beforeAll ? new Date(createdAt.getTime() - 1) : createdAt);
}

function isWithin(
  row: InteractionSummary,
  { costNanos, latencyMs }: InteractionPageQuery,
): boolean {
  const { min, max } = costNanos ?? {};
  const cost = row.costNanos;
  if (min !== undefined && (cost === null || cost < min)) return false;
  if (max !== undefined && (cost === null || cost > max)) return false;
  if (latencyMs?.min !== undefined && row.latencyMs < latencyMs.min) return false;
  return latencyMs?.max === undefined || row.latencyMs <= latencyMs.max;
}

function timeOf(span: number): string {
  return new Date(span * spanMs).toISOString();
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
