import type { SettledCall } from "../shared/interaction.ts";
import type { Media } from "../shared/media.ts";

/** A record whose media may stand elsewhere, as in the journal's files. */
export type JsonInteraction = Omit<SettledCall, "media"> & {
  media?: readonly (Omit<Media, "content"> & { content?: Uint8Array })[];
};

/**
 * A record as JSON text; amounts as digits, since they may be larger than JSON's numbers hold, and
 * media as base64.
 */
export function interactionToJson(row: JsonInteraction): string {
  return JSON.stringify({
    ...row,
    createdAt: row.createdAt.toISOString(),
    costNanos: row.costNanos === null ? null : String(row.costNanos),
    chargedNanos: String(row.chargedNanos),
    media: row.media?.map(({ content, ...named }) => ({
      ...named,
      ...(content ? { content: content.toBase64() } : {}),
    })),
  });
}

/** The record out of `interactionToJson`'s text, which our own journal's checksum vouches for. */
export function interactionFromJson(text: string): JsonInteraction {
  const { media, ...row } = JSON.parse(text) as Omit<SettledCall, "media"> & {
    createdAt: string;
    costNanos: string | null;
    chargedNanos: string;
    media?: (Omit<Media, "content"> & { content?: string })[];
  };
  return {
    ...row,
    createdAt: new Date(row.createdAt),
    costNanos: row.costNanos === null ? null : BigInt(row.costNanos),
    chargedNanos: BigInt(row.chargedNanos),
    ...(media ? { media: media.map(withBytes) } : {}),
  };
}

function withBytes({ content, ...named }: Omit<Media, "content"> & { content?: string }) {
  return {
    ...named,
    ...(content === undefined ? {} : { content: Uint8Array.fromBase64(content) }),
  };
}
