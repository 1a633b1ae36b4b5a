import { pushAll } from "../../base/lists.ts";
import type { InteractionListPage, InteractionPageQuery } from "../interaction_repository.ts";
import type { InteractionSummary } from "../../shared/interaction.ts";
import { type SearchTerms, searchTerms, spanMs, spanOf, termKeys } from "../search_tokens.ts";
import type { Queryable, SqlRow, SqlValue } from "../../database/database.ts";
import { listInteractions } from "./interactions_list.ts";
import { interactionConditions } from "../filter_conditions.ts";
import { oldestCall, readCallKey } from "./calls.ts";
import type { CallKey } from "../analytics_store.ts";
import { fetchByKey } from "./fetch_by_key.ts";
import { addFilters } from "./list_conditions.ts";
import { beforeAll } from "./list_windows.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/** How many of the newest rows that match the other filters are checked first. */
const firstRows = 100;
/**
 * The most rows with the words that a page checks against the other filters; the cursor continues
 * there.
 */
const maxHeld = 400;
/** The same limit if payloads must be read. */
const maxRead = 200;
/**
 * A page looks for phrases until the bytes of the payloads, times the characters of all phrases,
 * exceed this; the cursor continues there.
 */
const maxCompared = 256 * 1024 * 1024;
/** Shorter phrases count as this long: reading the payloads takes time, too. */
const minPhraseLength = 16;
/** Spans that one page searches: a year. */
const maxSpans = 366 * 6;
/** Spans per index lookup: half a day. */
const lookupSpans = 3;
/**
 * Lookups of one statement, a month and then a quarter of a year: even with enough rows from the
 * first lookup it makes them all, and the embedded database does nothing else meanwhile.
 */
const [firstLookups, laterLookups] = [60, 180];
/**
 * The most rows of a lookup that are read and sorted. The index has no order: of a word in all calls
 * of a busy half-day it would read them all, for a page of 50.
 */
const maxSorted = 2000;
/** How many calls of such a half-day are checked one by one, newest first, in each statement. */
const walkedRows = [500, 1500];

/**
 * Reads one page of the rows that contain some words, newest first. Common words are found among
 * the newest rows; others in the index of words, which is read span by span, newest first, until
 * the page is full. So the time depends neither on the number of rows nor on how common a word is.
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
  /** The phrases as payloads have them, each with its variants. */
  readonly #phrases: readonly string[][];
  /** Bytes of payloads in which this page may still look for phrases. */
  #bytes: number;

  constructor(database: Queryable, query: InteractionPageQuery, terms: SearchTerms) {
    this.#database = database;
    this.#query = query;
    this.#terms = terms;
    this.#phrases = terms.phrases.map((phrase) => {
      const written = escaped(phrase);
      return [...new Set([written, asciiOf(written)])];
    });
    const length = this.#phrases.flat().join("").length;
    this.#bytes = maxCompared / Math.max(length, minPhraseLength);
  }

  async page(): Promise<InteractionListPage> {
    const [cursor, bottom] = await Promise.all([this.#newest(), this.#bottom()]);
    if (cursor === undefined || bottom === undefined || this.#isFull) return this.#whole();
    return await this.#searchIndex(cursor, bottom);
  }

  get #isFull(): boolean {
    return this.#missing <= 0;
  }

  /**
   * The number of rows that the page still needs, including the one that shows that there are more.
   */
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

  /** Checks the newest rows; returns where the others begin, undefined if there are none. */
  async #newest(): Promise<CallKey | undefined> {
    // Ranges of cost and latency are checked afterwards: here they would cause a long scan.
    const { search: _, costNanos: _cost, latencyMs: _latency, ...query } = this.#query;
    const { rows, next } = await listInteractions(this.#database, { ...query, limit: firstRows });
    const checked = await this.#withText(rows);
    pushAll(this.#rows, checked.rows.filter((row) => isWithin(row, this.#query)));
    return checked.end ?? next;
  }

  /** Returns the rows that contain words and phrases, up to `end` if not all could be looked at. */
  async #withText<Row extends CallKey>(rows: readonly Row[]): Promise<TextMatches<Row>> {
    const bytes = await this.#idsWithWords(rows);
    const withWords = rows.filter(({ transactionId }) => bytes.has(transactionId));
    if (this.#phrases.length === 0) return { rows: withWords };
    const mayRead = withWords.findIndex(({ transactionId }, at) => {
      const isOver = this.#bytes <= 0 && at > 0;
      this.#bytes -= bytes.get(transactionId)!;
      return isOver;
    });
    const read = mayRead < 0 ? withWords : withWords.slice(0, mayRead);
    const ids = await this.#idsWithPhrases(read);
    const matching = read.filter(({ transactionId }) => ids.has(transactionId));
    return { rows: matching, end: mayRead < 0 ? undefined : read.at(-1) };
  }

  /** Returns the ids of the rows that contain the words, with the bytes of their payloads. */
  async #idsWithWords(rows: readonly CallKey[]): Promise<Map<string, number>> {
    const spans = [...new Set(rows.map(({ createdAt }) => spanOf(createdAt)))];
    const found = await this.#payloads(rows, (bind) => {
      const conditions = this.#terms.tokens.map((word) =>
        `p.words && ${bind(termKeys(this.#query.accountId, spans, word))}::bigint[]`
      );
      return `select case when (${conditions.join(" and ")}) is true
        then coalesce(octet_length(p.request), 0) + coalesce(octet_length(p.response), 0) end
        from interaction_payloads p where ${ofNamed}`;
    });
    return new Map(found.map((row) => [String(row.transaction_id), Number(row.found)]));
  }

  /** Returns the ids of the rows that contain the phrases. */
  async #idsWithPhrases(rows: readonly CallKey[]): Promise<Set<string>> {
    const found = await this.#payloads(rows, (bind) => {
      const conditions = this.#phrases.map((written) => {
        const variants = written.map((one) => `lower(${bind(one)})`);
        const isThere = variants.flatMap((one) =>
          ["request", "response"].map((text) => `strpos(p.${text}, ${one}) > 0`)
        );
        return `(${isThere.join(" or ")})`;
      });
      // `offset 0` has each text put into lower case once, not for each phrase.
      return `select nullif((${conditions.join(" and ")}) is true, false) from (
          select lower(p.request) as request, lower(p.response) as response
          from interaction_payloads p where ${ofNamed} offset 0
        ) as p`;
    });
    return new Set(found.map((row) => String(row.transaction_id)));
  }

  /** Returns the ids of the rows for whose payloads the select finds a value, and the values. */
  async #payloads(
    rows: readonly CallKey[],
    select: (bind: (value: SqlValue) => string) => string,
  ): Promise<SqlRow[]> {
    if (rows.length === 0) return [];
    const values: SqlValue[] = [
      rows.map(({ transactionId }) => transactionId),
      rows.map(({ createdAt }) => createdAt.toISOString()),
    ];
    // A scalar subquery, since a join may scan all payloads; a value in place of a condition keeps
    // the planner from the index of words, so that payloads are read by primary key; `offset 0` has
    // it look once.
    return await this.#database.query(
      `select * from (
         select named.transaction_id, (${select((value) => `$${values.push(value)}`)}) as found
         from unnest($1::text[], $2::timestamptz[]) as named(transaction_id, created_at)
         offset 0
       ) as named where found is not null`,
      values,
      { forceCustomPlan: true },
    );
  }

  /** Searches the index of words for rows after the cursor. */
  async #searchIndex(cursor: CallKey, bottom: Date): Promise<InteractionListPage> {
    const top = spanOf(cursor.createdAt);
    const lowest = Math.max(spanOf(bottom), top - maxSpans + 1);
    const most = this.#phrases.length > 0 ? maxRead : this.#hasFilters ? maxHeld : this.#missing;
    const found = await this.#found(cursor, { top, lowest, most });
    const checked = this.#phrases.length > 0 ? await this.#withText(found) : { rows: found };
    pushAll(this.#rows, await this.#fetchMatching(checked.rows));
    if (this.#isFull) return this.#whole();
    const end = checked.end ??
      (found.length < most
        ? { createdAt: new Date(lowest * spanMs), transactionId: beforeAll }
        : found.at(-1)!);
    if (end.transactionId === beforeAll && end.createdAt <= bottom) return this.#whole();
    return { rows: this.#rows, next: end, searchedBackTo: end.createdAt };
  }

  /** Returns the creation time of the oldest row that can match. */
  async #bottom(): Promise<Date | undefined> {
    const { accountId, start } = this.#query;
    const oldest = await oldestCall(this.#database, accountId);
    return oldest && start && start > oldest ? start : oldest;
  }

  /**
   * Finds the newest rows with the words, down to a span. Where many calls have them, calls are
   * checked in order of time.
   */
  async #found(
    cursor: CallKey,
    { top, lowest, most }: { top: number; lowest: number; most: number },
  ): Promise<CallKey[]> {
    const lookups: number[][] = [];
    for (let from = top; from >= lowest; from -= lookupSpans) {
      const spans = Array.from({ length: lookupSpans }, (_, at) => from - at);
      lookups.push(spans.filter((span) => span >= lowest));
    }
    const found: CallKey[] = [];
    for (let next = 0; next < lookups.length && found.length < most;) {
      const some = lookups.slice(next, next + (next === 0 ? firstLookups : laterLookups));
      const { rows, crowded } = await this.#lookUp(cursor, some, {
        most: most - found.length,
        sorted: maxSorted,
      });
      pushAll(found, rows);
      next += crowded ?? some.length;
      if (crowded === undefined) continue;
      pushAll(found, await this.#crowded(cursor, lookups[next]!, most - found.length));
      next++;
    }
    return found;
  }

  /** Finds the newest rows with the words in spans in which many calls have them. */
  async #crowded(cursor: CallKey, spans: readonly number[], most: number): Promise<CallKey[]> {
    const start = new Date(spans.at(-1)! * spanMs);
    const until = new Date((spans[0]! + 1) * spanMs);
    let after = cursor.createdAt < until ? cursor : { createdAt: until, transactionId: beforeAll };
    const found: CallKey[] = [];
    for (const limit of walkedRows) {
      const calls = await this.#callsBefore(after, start, limit);
      const bytes = await this.#idsWithWords(calls);
      pushAll(found, calls.filter(({ transactionId }) => bytes.has(transactionId)));
      if (found.length >= most) return found.slice(0, most);
      if (calls.length < limit) return found;
      after = calls.at(-1)!;
    }
    // Few of the newest have them: those of one span after the other are sorted.
    const missing = most - found.length;
    const { rows } = await this.#lookUp(after, spans.map((span) => [span]), { most: missing });
    pushAll(found, rows);
    return found;
  }

  /** Returns the account's calls between two points in time, newest first. */
  async #callsBefore(after: CallKey, start: Date, limit: number): Promise<CallKey[]> {
    const { accountId, start: from } = this.#query;
    const rows = await this.#database.query(
      `select i.transaction_id, i.created_at from interactions i
       where i.account_id = $1 and i.created_at >= $2 and i.created_at <= $3
         and (i.created_at, i.transaction_id) < ($3, $4)
       order by i.created_at desc, i.transaction_id desc limit $5`,
      [accountId, from && from > start ? from : start, after.createdAt, after.transactionId, limit],
      { forceCustomPlan: true },
    );
    return rows.map(readCallKey);
  }

  /**
   * Looks the words up in one group of spans after the other, until enough rows are found. Each
   * lookup has its own limit, which keeps the planner on the index: for the keys of many spans at
   * once it would scan the table. Ends before a lookup that has more rows than may be sorted:
   * `crowded` is its place.
   */
  async #lookUp(
    cursor: CallKey,
    lookups: readonly (readonly number[])[],
    { most, sorted }: { most: number; sorted?: number },
  ): Promise<{ rows: CallKey[]; crowded?: number | undefined }> {
    const { accountId, start } = this.#query;
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
      `select p.transaction_id, p.created_at, lookup.place, p.matches
       from (
         select * from unnest(${arrays.join(", ")}) with ordinality
           as lookup(start, until, ${keys.join(", ")}, place) order by place
       ) as lookup
       cross join lateral (
         select *, ${sorted === undefined ? "0" : "count(*) over ()"} as matches from (
           select p.transaction_id, p.created_at from interaction_payloads p
           where ${keys.map((name) => `p.words && lookup.${name}::bigint[]`).join(" and ")}
             and p.created_at >= lookup.start and p.created_at < lookup.until
             and p.created_at <= $1 and (p.created_at, p.transaction_id) < ($1, $2)
             ${start ? `and p.created_at >= ${bind(start)}` : ""}
           ${sorted === undefined ? "" : `limit ${sorted + 1}`}
         ) as p
         order by p.created_at desc, p.transaction_id desc limit ${most}
       ) as p
       order by lookup.place, p.created_at desc, p.transaction_id desc limit ${most}`,
      values,
      { forceCustomPlan: true },
    );
    const end = found.findIndex(({ matches }) => Number(matches) > (sorted ?? Infinity));
    if (end < 0) return { rows: found.map(readCallKey) };
    return { rows: found.slice(0, end).map(readCallKey), crowded: Number(found[end]!.place) - 1 };
  }

  /** Fetches the rows that match the other filters, up to a full page. */
  async #fetchMatching(found: readonly CallKey[]): Promise<InteractionSummary[]> {
    const { after: _, ...query } = this.#query;
    const { conditions, values } = interactionConditions(query);
    addFilters(query, conditions, (value) => `$${values.push(value)}`);
    return await fetchByKey(this.#database, query.accountId, found, {
      ...{ conditions, values },
      limit: this.#missing,
    });
  }
}

/** Rows that contain what is searched; `end` is the last that was looked at, unless all were. */
interface TextMatches<Row> {
  readonly rows: readonly Row[];
  readonly end?: Row | undefined;
}

/** The payload of a named row. */
const ofNamed = "p.transaction_id = named.transaction_id and p.created_at = named.created_at";

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

/** Returns the phrase as it is written inside a JSON string. */
function escaped(phrase: string): string {
  return JSON.stringify(phrase).slice(1, -1);
}

/** Returns the text as written by encoders that escape everything but ASCII. */
function asciiOf(text: string): string {
  return text.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
