import type { Interaction } from "../domain/interaction.ts";

/** A record as JSON text; amounts as digits, since they may be larger than JSON's numbers hold. */
export function interactionToJson(row: Interaction): string {
  return JSON.stringify({
    ...row,
    createdAt: row.createdAt.toISOString(),
    costNanos: row.costNanos === null ? null : String(row.costNanos),
    chargedNanos: String(row.chargedNanos),
  });
}

/** The record out of `interactionToJson`'s text, which our own journal's checksum vouches for. */
export function interactionFromJson(text: string): Interaction {
  const row = JSON.parse(text) as Interaction & {
    createdAt: string;
    costNanos: string | null;
    chargedNanos: string;
  };
  return {
    ...row,
    createdAt: new Date(row.createdAt),
    costNanos: row.costNanos === null ? null : BigInt(row.costNanos),
    chargedNanos: BigInt(row.chargedNanos),
  };
}
