import type { SettledCall } from "../shared/interaction.ts";
import type { Media } from "../shared/media.ts";
import { amountFields, timeFields } from "./exported_cells.ts";
import { withoutQuotedTexts } from "./quoted_texts.ts";

/** A record whose media may be stored separately, as in the journal's files. */
export type JsonInteraction = Omit<SettledCall, "media"> & {
  media?: readonly (Omit<Media, "content"> & { content?: Uint8Array })[];
};

/**
 * Writes a record as JSON text: amounts as strings of digits, since they may exceed JSON's numbers,
 * and media as base64. In JSON, `retained` is named `kept` and `sourceCallIds` is named `repeats`,
 * as in journals and background calls that are already stored. `instead`: fields that replace the
 * record's own. Quoted texts are left out (`withQuotedTexts`).
 */
export function interactionToJson(
  row: JsonInteraction,
  instead: Partial<Pick<JsonInteraction, "requestText" | "responseText">> & {
    media?: JsonInteraction["media"] | undefined;
  } = {},
): string {
  // One copy of its many fields: this runs twice for each call.
  const json: Record<string, unknown> = { ...row, ...instead };
  if (row.sourceCallIds) [json.repeats, json.sourceCallIds] = [row.sourceCallIds, undefined];
  if (json.media !== undefined) json.media = (json.media as JsonMedia[]).map(writeMedia);
  for (const field of timeFields) json[field] = row[field].toISOString();
  for (const field of amountFields) json[field] = row[field]?.toString() ?? null;
  // Last, as a conversation is within it.
  if (row.retained) [json.kept, json.retained] = [withoutQuotedTexts(row.retained), undefined];
  return JSON.stringify(json);
}

type JsonMedia = NonNullable<JsonInteraction["media"]>[number];

function writeMedia({ content, ...named }: JsonMedia) {
  return { ...named, ...(content ? { content: content.toBase64() } : {}) };
}

/**
 * Reads a record that `interactionToJson` wrote. The text is trusted: the journal has its checksum.
 */
export function interactionFromJson(text: string): JsonInteraction {
  const { media, kept, repeats, ...json } = JSON.parse(text) as Record<string, unknown> & {
    media?: (Omit<Media, "content"> & { content?: string })[];
  };
  if (kept !== undefined) json.retained = kept;
  if (repeats !== undefined) json.sourceCallIds = repeats;
  for (const field of timeFields) json[field] = new Date(json[field] as string);
  for (const field of amountFields) {
    const digits = json[field] as string | null;
    json[field] = digits === null ? null : BigInt(digits);
  }
  const row = json as unknown as Omit<SettledCall, "media">;
  return { ...row, ...(media ? { media: media.map(withBytes) } : {}) };
}

function withBytes({ content, ...named }: Omit<Media, "content"> & { content?: string }) {
  return {
    ...named,
    ...(content === undefined ? {} : { content: Uint8Array.fromBase64(content) }),
  };
}
