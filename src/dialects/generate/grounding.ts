import type { Citation } from "../canonical.ts";
import { isRecord, type JsonRecord, words } from "../json.ts";

/**
 * Citations out of a candidate's `groundingMetadata` or `citationMetadata`. `text` is the block
 * they speak of: offsets count UTF-8 bytes on the wire and UTF-16 units in the neutral form.
 */
export function readCitations(candidate: JsonRecord, text: string): Citation[] {
  const grounding = isRecord(candidate.groundingMetadata) ? candidate.groundingMetadata : {};
  const chunks = records(grounding.groundingChunks).map(source);
  const offset = offsetReader(text);
  const supported = records(grounding.groundingSupports).flatMap((support) => {
    const segment = isRecord(support.segment) ? support.segment : {};
    const range = { start: offset(segment.startIndex ?? 0), end: offset(segment.endIndex) };
    const indices = Array.isArray(support.groundingChunkIndices)
      ? support.groundingChunkIndices
      : [];
    return indices.flatMap((index: unknown): Citation[] => {
      const chunk = typeof index === "number" ? chunks[index] : undefined;
      return chunk ? [{ ...chunk, ...range }] : [];
    });
  });
  // Sources that no passage is tied to are sources all the same.
  const cited = new Set(supported.map(({ url }) => url));
  const loose = chunks.flatMap((chunk): Citation[] =>
    chunk && !cited.has(chunk.url) ? [{ ...chunk, start: undefined, end: undefined }] : []
  );
  return [...supported, ...loose, ...recitations(candidate.citationMetadata, offset)];
}

/** How many web searches a candidate's grounding names; undefined where there are none. */
export function searchCount(candidate: JsonRecord): number | undefined {
  const grounding = candidate.groundingMetadata;
  if (!isRecord(grounding) || !Array.isArray(grounding.webSearchQueries)) return undefined;
  return grounding.webSearchQueries.length || undefined;
}

/** Writes citations of one text as `groundingMetadata`. */
export function writeCitations(
  citations: readonly Citation[],
  text: string,
): Record<string, unknown> {
  const urls = [...new Set(citations.map(({ url }) => url))];
  const titleOf = (url: string) => citations.find((one) => one.url === url)?.title;
  const bytes = (units: number) => new TextEncoder().encode(text.slice(0, units)).length;
  const tied = citations.filter(({ start, end }) => start !== undefined && end !== undefined);
  return {
    groundingChunks: urls.map((uri) => {
      const title = titleOf(uri);
      return { web: { uri, ...(title === undefined ? {} : { title }) } };
    }),
    groundingSupports: tied.map(({ url, start, end }) => ({
      segment: {
        ...(start === 0 ? {} : { startIndex: bytes(start!) }),
        endIndex: bytes(end!),
        text: text.slice(start, end),
      },
      groundingChunkIndices: [urls.indexOf(url)],
    })),
  };
}

function source(chunk: JsonRecord): { url: string; title: string | undefined } | undefined {
  for (const kind of ["web", "retrievedContext", "maps"]) {
    const place = chunk[kind];
    const url = isRecord(place) ? words(place.uri) : undefined;
    if (url !== undefined) return { url, title: words((place as JsonRecord).title) };
  }
  return undefined;
}

function recitations(
  metadata: unknown,
  offset: (bytes: unknown) => number | undefined,
): Citation[] {
  if (!isRecord(metadata)) return [];
  const list = records(metadata.citationSources ?? metadata.citations);
  return list.flatMap((one): Citation[] => {
    const url = words(one.uri);
    if (url === undefined) return [];
    const end = offset(one.endIndex);
    const start = end === undefined ? undefined : offset(one.startIndex ?? 0);
    return [{ url, title: words(one.title), start, end }];
  });
}

/** Turns an offset in UTF-8 bytes of `text` into one in UTF-16 units; undefined beyond its end. */
function offsetReader(text: string): (bytes: unknown) => number | undefined {
  const encoded = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  return (bytes) => {
    if (typeof bytes !== "number" || bytes < 0 || bytes > encoded.length) return undefined;
    return decoder.decode(encoded.subarray(0, bytes)).length;
  };
}

function records(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
