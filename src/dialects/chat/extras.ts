import type { BlockKind, Citation } from "../canonical.ts";
import { isRecord, type JsonRecord, words } from "../json.ts";
import { mediaSource } from "../media_source.ts";

/** Sources that a chat message or delta names beside its text (chat-completions.md §4.1). */
export function readCitations(delta: JsonRecord): Citation[] {
  if (!Array.isArray(delta.annotations)) return [];
  return delta.annotations.flatMap((annotation: unknown): Citation[] => {
    const cited = isRecord(annotation) ? annotation.url_citation : undefined;
    const url = isRecord(cited) ? words(cited.url) : undefined;
    if (!isRecord(cited) || url === undefined) return [];
    return [{
      url,
      title: words(cited.title),
      start: index(cited.start_index),
      end: index(cited.end_index),
    }];
  });
}

type Media = BlockKind & { kind: "media" };

/** Pictures of a message or delta, an extension of the aggregator (translation.md §11). */
export function readImages(delta: JsonRecord): { content: Media; data: string }[] {
  if (!Array.isArray(delta.images)) return [];
  return delta.images.flatMap((image: unknown) => {
    const holder = isRecord(image) ? image.image_url : undefined;
    const url = isRecord(holder) ? words(holder.url) : undefined;
    const source = url === undefined ? undefined : mediaSource(url);
    if (source?.type !== "base64") return [];
    const { mimeType, data } = source;
    return [{ content: { kind: "media", media: "image", mimeType, id: undefined } as const, data }];
  });
}

/** Sound of a message, or a piece of it in a delta; its transcript is the answer's text. */
export function readAudio(
  delta: JsonRecord,
):
  | { id: string | undefined; data: string | undefined; transcript: string | undefined }
  | undefined {
  if (!isRecord(delta.audio)) return undefined;
  const { id, data, transcript } = delta.audio;
  return { id: words(id), data: words(data), transcript: words(transcript) };
}

function index(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
