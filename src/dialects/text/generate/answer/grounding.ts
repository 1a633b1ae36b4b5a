import type { Citation, SearchWork } from "../../../kernel/canonical.ts";
import { maxCitations } from "../../../kernel/fold.ts";
import { sha256Hex, shortKey } from "../../../../base/hash.ts";
import { asRecord, asString, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";

/**
 * Reads the citations in a candidate's `groundingMetadata` or `citationMetadata`. `text` is the
 * block that they refer to: offsets count UTF-8 bytes on the wire and UTF-16 units in the canonical
 * form. At most one more than an answer may have: a passage may name all sources, and all passages
 * may be the same.
 */
export function readCitations(candidate: JsonRecord, text: string): Citation[] {
  const grounding = asRecord(candidate.groundingMetadata);
  const chunks = recordsIn(grounding.groundingChunks).map(source);
  const offset = offsetReader(text);
  const supported: Citation[] = [];
  for (const support of recordsIn(grounding.groundingSupports)) {
    const segment = asRecord(support.segment);
    const range = { start: offset(segment.startIndex ?? 0), end: offset(segment.endIndex) };
    const indices = Array.isArray(support.groundingChunkIndices)
      ? support.groundingChunkIndices
      : [];
    for (const index of indices) {
      const chunk = typeof index === "number" ? chunks[index] : undefined;
      if (chunk && supported.length <= maxCitations) supported.push({ ...chunk, ...range });
    }
  }
  // Sources without a passage count too.
  const cited = new Set(supported.map(({ url }) => shortKey(url)));
  const loose = chunks.flatMap((chunk): Citation[] =>
    chunk && !cited.has(shortKey(chunk.url)) ? [{ ...chunk, start: undefined, end: undefined }] : []
  );
  return [...supported, ...loose, ...recitations(candidate.citationMetadata, offset)];
}

export function searchCount(candidate: JsonRecord): number | undefined {
  const grounding = candidate.groundingMetadata;
  if (!isRecord(grounding)) return undefined;
  const lists = [grounding.webSearchQueries, grounding.imageSearchQueries];
  return lists.flatMap((list) => Array.isArray(list) ? list : []).length || undefined;
}

/**
 * Returns the number of Google Maps queries; undefined if there were none. `retrievalQueries` may
 * list them; if it doesn't, there was at least one.
 */
export function mapsCount(candidate: JsonRecord): number | undefined {
  const grounding = candidate.groundingMetadata;
  if (!isRecord(grounding)) return undefined;
  const chunks = Array.isArray(grounding.groundingChunks) ? grounding.groundingChunks : [];
  const isMapped = typeof grounding.googleMapsWidgetContextToken === "string" ||
    chunks.some((chunk) => isRecord(chunk) && isRecord(chunk.maps));
  if (!isMapped) return undefined;
  const queries = Array.isArray(grounding.retrievalQueries) ? grounding.retrievalQueries : [];
  return Math.max(1, queries.length);
}

/** Returns the searches in a candidate's grounding, with the pages found, as one search. */
export function readSearch(candidate: JsonRecord): SearchWork | undefined {
  const grounding = asRecord(candidate.groundingMetadata);
  if (!Array.isArray(grounding.webSearchQueries)) return undefined;
  const queries = grounding.webSearchQueries.flatMap((one: unknown) => asString(one) ?? []);
  if (queries.length === 0) return undefined;
  const results = recordsIn(grounding.groundingChunks).flatMap((chunk) => source(chunk) ?? []);
  return { id: sha256Hex(JSON.stringify([queries, results])).slice(0, 24), queries, results };
}

/** Writes the citations of one text, and the searches behind them, as `groundingMetadata`. */
export function writeGrounding(
  citations: readonly Citation[],
  text: string,
  queries: readonly string[],
): Record<string, unknown> {
  if (citations.length === 0 && queries.length === 0) return {};
  return {
    groundingMetadata: {
      ...(queries.length === 0 ? {} : { webSearchQueries: queries }),
      ...(citations.length === 0 ? {} : writeCitations(citations, text)),
    },
  };
}

function writeCitations(citations: readonly Citation[], text: string): Record<string, unknown> {
  const first = new Map<string, Citation>();
  for (const one of citations) {
    const key = shortKey(one.url);
    if (!first.has(key)) first.set(key, one);
  }
  const indexes = new Map([...first.keys()].map((key, index) => [key, index]));
  const bytes = byteReader(text);
  // The whole text may be cited repeatedly: all excerpts together are limited to four times its
  // length.
  let room = 4 * text.length + 65_536;
  const excerpt = (start: number, end: number) => {
    room -= Math.max(0, end - start);
    return room < 0 ? {} : { text: text.slice(start, end) };
  };
  // Sources of the same passage form one entry.
  const tied: { start: number; end: number; indices: Set<number> }[] = [];
  for (const { url, start, end } of citations) {
    if (start === undefined || end === undefined) continue;
    const last = tied.at(-1);
    const index = indexes.get(shortKey(url))!;
    if (last?.start === start && last.end === end) last.indices.add(index);
    else tied.push({ start, end, indices: new Set([index]) });
  }
  return {
    groundingChunks: [...first.values()].map(({ url, title }) => {
      return { web: { uri: url, ...(title === undefined ? {} : { title }) } };
    }),
    groundingSupports: tied.map(({ start, end, indices }) => ({
      segment: {
        ...(start === 0 ? {} : { startIndex: bytes(start) }),
        endIndex: bytes(end),
        ...excerpt(start, end),
      },
      groundingChunkIndices: [...indices],
    })),
  };
}

function source(chunk: JsonRecord): { url: string; title: string | undefined } | undefined {
  for (const kind of ["web", "retrievedContext", "maps"]) {
    const entry = asRecord(chunk[kind]);
    const url = asString(entry.uri);
    if (url !== undefined) return { url, title: asString(entry.title) };
  }
  return undefined;
}

function recitations(
  metadata: unknown,
  offset: (bytes: unknown) => number | undefined,
): Citation[] {
  if (!isRecord(metadata)) return [];
  const list = recordsIn(metadata.citationSources ?? metadata.citations);
  return list.flatMap((one): Citation[] => {
    const url = asString(one.uri);
    if (url === undefined) return [];
    const end = offset(one.endIndex);
    const start = end === undefined ? undefined : offset(one.startIndex ?? 0);
    return [{ url, title: asString(one.title), start, end }];
  });
}

/** Converts an offset in UTF-8 bytes of `text` to UTF-16 units; undefined beyond its end. */
function offsetReader(text: string): (bytes: unknown) => number | undefined {
  let units: Uint32Array | undefined;
  return (bytes) => {
    units ??= unitsAtBytes(text);
    return typeof bytes === "number" ? units[Math.trunc(bytes)] : undefined;
  };
}

/** Converts an offset in UTF-16 units of `text` to UTF-8 bytes. */
function byteReader(text: string): (units: number) => number {
  let bytes: Uint32Array | undefined;
  return (units) => {
    bytes ??= bytesAtUnits(text);
    return bytes[Math.min(Math.max(0, Math.trunc(units)), text.length)]!;
  };
}

/**
 * Maps offsets in UTF-16 units to UTF-8 bytes. Computed once for all citations of a text; a lone
 * surrogate takes three bytes.
 */
function bytesAtUnits(text: string): Uint32Array {
  const table = new Uint32Array(text.length + 1);
  let bytes = 0;
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!;
    if (code > 0xffff) table[at + 1] = bytes + 3;
    at += code > 0xffff ? 2 : 1;
    table[at] = bytes += byteLength(code);
  }
  return table;
}

/**
 * Maps offsets in UTF-8 bytes to UTF-16 units. An offset within a character maps to the end of its
 * first unit.
 */
function unitsAtBytes(text: string): Uint32Array {
  const table = new Uint32Array(new TextEncoder().encode(text).length + 1);
  let bytes = 0;
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!;
    const length = byteLength(code);
    table.fill(at + 1, bytes + 1, bytes + length);
    at += code > 0xffff ? 2 : 1;
    table[bytes += length] = at;
  }
  return table;
}

function byteLength(code: number): number {
  if (code < 0x80) return 1;
  return code < 0x800 ? 2 : code > 0xffff ? 4 : 3;
}
