import { choiceList } from "../../../kernel/choices.ts";
import { maxCitations } from "../../../kernel/fold.ts";
import type { BlockKind, Citation } from "../../../kernel/canonical.ts";
import { asRecord, asString, count, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { mediaSource } from "../../../kernel/media_source.ts";
import type { TextUnits } from "../../../kernel/text_units.ts";

/**
 * Reads the sources that a message or delta cites. On the wire their offsets count characters of
 * `text`, the whole message; in the canonical form UTF-16 units of the block, which begins at
 * `from`.
 */
export function readCitations(delta: JsonRecord, text: TextUnits, from: number): Citation[] {
  const annotations = choiceList(delta.annotations, "sources", maxCitations);
  return annotations.flatMap((annotation): Citation[] => {
    const cited = asRecord(asRecord(annotation).url_citation);
    const url = asString(cited.url);
    if (url === undefined) return [];
    return [{ url, title: asString(cited.title), ...rangeOf(cited, text, from) }];
  });
}

/** An empty range, or one that begins before the block, means that the range is unknown. */
function rangeOf(
  cited: JsonRecord,
  text: TextUnits,
  from: number,
): { start: number | undefined; end: number | undefined } {
  const start = count(cited.start_index);
  const end = count(cited.end_index);
  const isKnown = start !== undefined && end !== undefined && end > 0 &&
    text.unitsAt(start) >= from;
  return isKnown
    ? { start: text.unitsAt(start) - from, end: text.unitsAt(end) - from }
    : { start: undefined, end: undefined };
}

/**
 * Writes a citation as a chat annotation. `from`: where its block begins in `text`, the whole
 * message, in UTF-16 units.
 */
export function writeAnnotation(
  citation: Citation,
  text: TextUnits,
  from: number,
): Record<string, unknown> {
  const { start, end } = citation;
  const isKnown = start !== undefined && end !== undefined;
  return {
    type: "url_citation",
    url_citation: {
      start_index: isKnown ? text.pointsAt(from + start) : 0,
      end_index: isKnown ? text.pointsAt(from + end) : 0,
      url: citation.url,
      title: citation.title ?? "",
    },
  };
}

type Media = BlockKind & { kind: "media" };

/** Images in a message or delta: OpenRouter's extension. */
export function readImages(delta: JsonRecord): { content: Media; data: string }[] {
  return choiceList(delta.images, "images").flatMap((image) => {
    const url = asString(asRecord(asRecord(image).image_url).url);
    const source = url === undefined ? undefined : mediaSource(url);
    if (source?.type !== "base64") return [];
    const { mimeType, data } = source;
    return [{ content: { kind: "media", media: "image", mimeType, id: undefined } as const, data }];
  });
}

/** Audio of a message, or a piece of it in a delta. Its transcript is the answer's text. */
export function readAudio(delta: JsonRecord):
  | { id: string | undefined; data: string | undefined; transcript: string | undefined }
  | undefined {
  if (!isRecord(delta.audio)) return undefined;
  const { id, data, transcript } = delta.audio;
  return { id: asString(id), data: asString(data), transcript: asString(transcript) };
}
