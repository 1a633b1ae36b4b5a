/**
 * The simulated vendors' web search: the queries, the pages found, and an answer whose passages
 * cite them. Each vendor presents it in its own dialect.
 */
import { lastWords } from "./prose.ts";
import { hash } from "./tokens.ts";

export interface FoundPage {
  url: string;
  title: string;
}

export interface Search {
  query: string;
  pages: FoundPage[];
}

/** A passage of the answer and the pages that it was taken from. */
export interface Passage {
  /** In UTF-16 units of the answer; the end is exclusive. */
  start: number;
  end: number;
  pages: FoundPage[];
}

/** The vendor's search, as a request offers it to the model. */
export interface OfferedSearch {
  /** The model must search. */
  isDemanded: boolean;
  /** Limit on the searches; null: none. */
  maxUses: number | null;
  /** Pages are found on these hosts only; empty: anywhere. */
  hosts: string[];
}

const MOST_SEARCHES = 20;

/**
 * Returns the searches for a question: as many as its magic word asks for (`asked`), else one if
 * the request demands a search or the question's words suggest one.
 */
export function searchFor(
  question: string,
  offered: OfferedSearch | null,
  asked: number | null,
): Search[] {
  if (!offered) return [];
  const wants = asked ??
    (offered.isDemanded || /\b(search|web|news|latest)\b/i.test(question) ? 1 : 0);
  const count = Math.min(wants, offered.maxUses ?? MOST_SEARCHES, MOST_SEARCHES);
  return Array.from({ length: count }, (_, index) => {
    const query = `${lastWords(question)} ${index + 1}`.trim();
    return { query, pages: [pageOf(query, 0, offered.hosts), pageOf(query, 1, offered.hosts)] };
  });
}

function pageOf(query: string, place: number, hosts: readonly string[]): FoundPage {
  const host = hosts[place % Math.max(1, hosts.length)] ?? "news.example";
  const number = hash(`${query}:${place}`) % 10_000;
  return { url: `https://${host}/${number}`, title: `Page ${number} – „${query.slice(0, 40)}“` };
}

/**
 * Returns an answer that cites the pages. Characters of one to four bytes precede each passage, so
 * that the vendors' ways of counting its place differ.
 */
export function citedProse(
  question: string,
  searches: readonly Search[],
): { text: string; passages: Passage[] } {
  let text = `Das Web 🌍 says of “${lastWords(question)}”: `;
  const passages: Passage[] = [];
  searches.forEach(({ pages }, index) => {
    const start = text.length;
    text += `finding ${index + 1} – naïve 東京 😀 is confirmed`;
    // The first passage has two sources.
    passages.push({ start, end: text.length, pages: index === 0 ? pages : pages.slice(0, 1) });
    text += index === searches.length - 1 ? ". ✔" : "; ";
  });
  return { text, passages };
}

/** Counts the code points before a place, as the chat and responses vendors do. */
export function pointsBefore(text: string, place: number): number {
  return [...text.slice(0, place)].length;
}

/** Counts the bytes before a place, as the generate vendor does. */
export function bytesBefore(text: string, place: number): number {
  return new TextEncoder().encode(text.slice(0, place)).length;
}
