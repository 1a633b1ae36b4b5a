/**
 * The simulated vendors' web search: what was asked for, the pages that were found, and an answer
 * whose passages name them. Each vendor shows it in its own dialect.
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
  /** In UTF-16 units of the answer, the end excluded. */
  start: number;
  end: number;
  pages: FoundPage[];
}

/** What a request says of the vendor's search. */
export interface OfferedSearch {
  /** The request leaves the model no choice. */
  isDemanded: boolean;
  /** At most so many searches; null: as many as it likes. */
  maxUses: number | null;
  /** Pages of other hosts are not found. */
  hosts: string[];
}

const MOST_SEARCHES = 20;

/** The searches for a question: as many as its magic word says, else one where it speaks of one. */
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

/** Characters of one, two, three and four bytes stand before each passage. */
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

/** Code points before a place, as the chat and responses vendors count. */
export function pointsBefore(text: string, place: number): number {
  return [...text.slice(0, place)].length;
}

/** Bytes before a place, as the generate vendor counts. */
export function bytesBefore(text: string, place: number): number {
  return new TextEncoder().encode(text.slice(0, place)).length;
}
