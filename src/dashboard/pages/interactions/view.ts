import { withoutEnd } from "../../../base/trim.ts";
import { nanosToUsd, parseUsd } from "../../../base/money.ts";
import { exactTime, nameText, readTime, shortText } from "../../format.ts";
import type { InteractionPageQuery } from "../../../records/interaction_repository.ts";
import { clampSpan, dayMs } from "../../../shared/time_span.ts";
import { countTerms, hasIgnoredTerms, maxTerms } from "../../../records/search_tokens.ts";

/** Address of the list; the pages of single calls are below it. */
export const listPath = "/dashboard/interactions";

/** Which of the account's interactions a page shows; the page's address holds all of it. */
export interface View {
  /** The query without account, order, and the page's position and length. */
  query: Omit<InteractionPageQuery, "accountId" | "order" | "after" | "limit">;
  /** The address's fields that have an effect. */
  fields: URLSearchParams;
  /** Fields that can't be read or are ignored: the form shows them again, to be corrected. */
  unused: URLSearchParams;
  chips: Chip[];
  /** Texts about fields that can't be read, with what was expected; they have no effect. */
  problems: string[];
}

/** A filter that is on, with the address's fields without it. */
export interface Chip {
  label: string;
  value: string;
  without: URLSearchParams;
}

/** Filters of one column each: their name in the address, the column, and the label. */
export const columnFilters = [
  { name: "status", column: "status", label: "Status" },
  { name: "vendor", column: "vendor", label: "Vendor" },
  { name: "model", column: "model", label: "Model" },
  { name: "app", column: "app", label: "App" },
  { name: "flow", column: "flow", label: "Flow" },
  { name: "cohort", column: "cohort_id", label: "Cohort" },
  { name: "key", column: "api_key_id", label: "API key" },
  { name: "user", column: "user_id", label: "User" },
  { name: "session", column: "session_id", label: "Session" },
  { name: "request", column: "request_id", label: "X-Request-ID" },
] as const;

export type FilterName = typeof columnFilters[number]["name"];

export const statuses = ["completed", "failed", "truncated", "cancelled", "interrupted"] as const;

/** Time spans that end now. */
export const presets = [
  { value: "15m", label: "Last 15 minutes", ms: 15 * 60_000 },
  { value: "1h", label: "Last hour", ms: 3_600_000 },
  { value: "24h", label: "Last 24 hours", ms: 24 * 3_600_000 },
  { value: "7d", label: "Last 7 days", ms: 7 * 86_400_000 },
  { value: "30d", label: "Last 30 days", ms: 30 * 86_400_000 },
  { value: "90d", label: "Last 90 days", ms: 90 * 86_400_000 },
] as const;

/** The most values of one filter, and below characters of one value: people need no more. */
const maxValues = 20;
const maxLength = 500;

/** Reads a view from an address's fields; `nameOf` returns the display name of a value. */
export function readView(
  params: URLSearchParams,
  now: Date,
  nameOf: (filter: FilterName, value: string) => string = (_filter, value) => value,
): View {
  const reader = new ViewReader(params);
  reader.search();
  reader.span(now);
  for (const filter of columnFilters) reader.column(filter, nameOf);
  reader.range("cost", "Cost", readUsd, (nanos) => `$${shortUsd(nanos)}`);
  reader.range("latency", "Latency", readMs, (ms) => `${ms} ms`);
  return reader.view();
}

/** Returns the address of a page or an action for a view. */
export function viewAddress(path: string, fields: URLSearchParams, more = {}): string {
  const all = new URLSearchParams(fields);
  for (const [name, value] of Object.entries(more)) all.set(name, String(value));
  const query = all.toString();
  return query === "" ? path : `${path}?${query}`;
}

class ViewReader {
  readonly #fields = new URLSearchParams();
  readonly #unused = new URLSearchParams();
  readonly #problems: string[] = [];
  #chips: { label: string; value: string; field: string; text: string | undefined }[] = [];
  #filters: Record<string, string[]> = {};
  #query: View["query"] = {};

  constructor(readonly params: URLSearchParams) {}

  view(): View {
    const query = Object.keys(this.#filters).length === 0
      ? this.#query
      : { ...this.#query, filters: this.#filters };
    const chips = this.#chips.map(({ label, value, field, text }) => ({
      label,
      value,
      without: without(this.#fields, field, text),
    }));
    return { query, fields: this.#fields, unused: this.#unused, chips, problems: this.#problems };
  }

  search(): void {
    const search = this.#one("q");
    if (search === undefined) return;
    const reason = searchProblem(search);
    if (reason !== undefined) {
      this.#unused.set("q", search);
      this.#problems.push(`Text “${shortText(search, 40)}”: ${reason}.`);
      return;
    }
    this.#query.search = search;
    this.#keep("q", search, "Text", `“${search}”`);
  }

  span(now: Date): void {
    const asked = this.#one("range");
    const preset = presets.find(({ value }) => value === asked);
    if (asked !== undefined && !preset) {
      this.#unused.set("range", asked);
      const values = presets.map(({ value }) => value);
      this.#problems.push(
        `Time “${shortText(asked, 40)}”: expected ${values.slice(0, -1).join(", ")} or ${
          values.at(-1)
        }.`,
      );
    }
    if (preset) {
      this.#query.start = new Date(now.getTime() - preset.ms);
      this.#keep("range", preset.value, "Time", preset.label);
      const ignored = (["from", "to"] as const).filter((name) => this.#one(name) !== undefined);
      for (const name of ignored) this.#unused.set(name, this.#one(name)!);
      if (ignored.length > 0) {
        this.#problems.push(
          `“${preset.label}” is chosen, so “From” and “To” are ignored. Choose “Any time” to use them.`,
        );
      }
      return;
    }
    const { start, end } = clampSpan({ start: this.#time("from"), end: this.#time("to") });
    if (start && end && end <= start) {
      this.#problems.push("“To” is not after “From”, so no call can lie between them.");
    }
    if (start) {
      this.#query.start = start;
      this.#keep("from", minuteText(start), "From", exactTime(start));
    }
    if (end) {
      this.#query.end = end;
      this.#keep("to", minuteText(end), "To", exactTime(end));
    }
  }

  column(
    { name, column, label }: typeof columnFilters[number],
    nameOf: (filter: FilterName, value: string) => string,
  ): void {
    const values = [...new Set(this.#all(name))].slice(0, maxValues);
    if (values.length === 0) return;
    this.#filters[column] = values;
    for (const value of values) this.#keep(name, value, label, nameText(nameOf(name, value)));
  }

  range<T extends bigint | number>(
    name: "cost" | "latency",
    label: string,
    read: (text: string) => T,
    show: (value: T) => string,
  ): void {
    const range: { min?: T; max?: T } = {};
    for (const [end, prefix] of [["min", "from"], ["max", "up to"]] as const) {
      const text = this.#one(`${name}_${end}`);
      if (text === undefined) continue;
      try {
        range[end] = read(text);
        this.#keep(`${name}_${end}`, text, `${label} ${prefix}`, show(range[end]));
      } catch (thrown) {
        const reason = thrown instanceof RangeError ? thrown.message : "expected a number";
        this.#unused.set(`${name}_${end}`, text);
        this.#problems.push(`${label} ${prefix} “${shortText(text, 40)}”: ${reason}.`);
      }
    }
    if (range.min === undefined && range.max === undefined) return;
    Object.assign(this.#query, { [name === "cost" ? "costNanos" : "latencyMs"]: range });
  }

  /** Reads a time, in UTC as everywhere on the pages. A day alone is included as a whole. */
  #time(name: "from" | "to"): Date | undefined {
    const text = this.#one(name);
    if (text === undefined) return undefined;
    const day = readTime(text, { hasTime: false });
    if (day) return name === "from" ? day : new Date(day.getTime() + dayMs);
    const time = readTime(text, { hasTime: true });
    if (time) return time;
    this.#unused.set(name, text);
    this.#problems.push(
      `${name === "from" ? "From" : "To"} “${
        shortText(text, 40)
      }”: expected a time such as 21 Nov 2026, 09:00.`,
    );
    return undefined;
  }

  #one(name: string): string | undefined {
    return this.#all(name)[0];
  }

  #all(name: string): string[] {
    // Callers' names, such as those of end users, may differ only in blanks around them.
    const isName = columnFilters.some((one) => one.name === name && name !== "request");
    return this.params.getAll(name).filter((one) => one.trim() !== "")
      .map((one) => (isName ? one : one.trim()).slice(0, maxLength));
  }

  #keep(field: string, text: string, label: string, value: string): void {
    this.#fields.append(field, text);
    this.#chips.push({ label, value, field, text });
  }
}

/** Says why a text can't be searched; undefined if it can. */
function searchProblem(text: string): string | undefined {
  if (countTerms(text) === 0) return "expected at least one letter or digit";
  return hasIgnoredTerms(text)
    ? `expected at most ${maxTerms} words, or a “phrase” in quotes, which may be longer`
    : undefined;
}

function without(fields: URLSearchParams, field: string, text: string | undefined) {
  const rest = new URLSearchParams(fields);
  rest.delete(field, text);
  return rest;
}

/** Formats a time for an address, `2026-11-21T09:00`, with seconds unless they are zero. */
function minuteText(time: Date): string {
  const text = time.toISOString();
  return text.slice(0, text.slice(17, 19) === "00" ? 16 : 19);
}

function readUsd(text: string): bigint {
  const plain = text.replace(/^\$/, "");
  if (!/^\d{1,12}(\.\d{1,9})?$/.test(plain)) {
    throw new RangeError("expected an amount such as 0.25");
  }
  const nanos = parseUsd(plain, 9);
  if (nanos > maxNanos) throw new RangeError("expected less than a billion dollars");
  return nanos;
}

const maxNanos = 10n ** 18n;

function readMs(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new RangeError("expected whole milliseconds");
  return Number(text);
}

function shortUsd(nanos: bigint): string {
  return withoutEnd(withoutEnd(nanosToUsd(nanos), "0"), ".");
}
