import type { Citation } from "../../../kernel/canonical.ts";
import { asString, count, isRecord } from "../../../kernel/json.ts";
import type { TextUnits } from "../../../kernel/text_units.ts";

/**
 * Reads a `url_citation`, whose offsets count characters. Undefined for other annotations, which
 * refer to the vendor's own files.
 */
export function readCitation(annotation: unknown, text: TextUnits): Citation | undefined {
  if (!isRecord(annotation) || annotation.type !== "url_citation") return undefined;
  const url = asString(annotation.url);
  if (url === undefined) return undefined;
  const end = count(annotation.end_index);
  // The schema requires both numbers, so an empty range stands for an unknown one.
  const hasRange = end !== undefined && end > 0;
  const start = hasRange ? count(annotation.start_index) : undefined;
  return {
    url,
    title: asString(annotation.title),
    start: start === undefined ? undefined : text.unitsAt(start),
    end: hasRange ? text.unitsAt(end) : undefined,
  };
}

/** Writes a `url_citation` with the fields that the schema requires. */
export function writeCitation(citation: Citation, text: TextUnits): Record<string, unknown> {
  return {
    type: "url_citation",
    url: citation.url,
    title: citation.title ?? "",
    start_index: text.pointsAt(citation.start ?? 0),
    end_index: text.pointsAt(citation.end ?? 0),
  };
}
