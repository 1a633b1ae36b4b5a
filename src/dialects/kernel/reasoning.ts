import type { Reasoning } from "./canonical_request.ts";

export const effortLevels = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** The effort, or the one that stands for the budget. */
export function effortOf({ effort, budgetTokens: budget }: Reasoning): string | undefined {
  if (effort !== undefined) return effort;
  if (budget === undefined || budget < 0) return undefined;
  if (budget === 0) return "none";
  return budget < 2048 ? "low" : budget < 8192 ? "medium" : "high";
}

/** Stands for a signature that nobody has: the vendor's documented way. */
export const signatureSentinel = "skip_thought_signature_validator";

/** Both documented sentinels, as text and as clients write them that hold signatures as bytes. */
const sentinels: ReadonlySet<string> = new Set(
  [signatureSentinel, "context_engineering_is_the_way_to_go"].flatMap((text) => {
    const bytes = new TextEncoder().encode(text);
    return [
      text,
      bytes.toBase64(),
      bytes.toBase64({ omitPadding: true }),
      bytes.toBase64({ alphabet: "base64url" }),
      bytes.toBase64({ alphabet: "base64url", omitPadding: true }),
    ];
  }),
);

/**
 * A thought signature that a client carried; undefined where it carried none. A sentinel says that
 * the client has none, so that ours is put back (`reasoning_vault.ts`).
 */
export function carriedSignature(value: string | undefined): string | undefined {
  return value === undefined || value === "" || sentinels.has(value) ? undefined : value;
}
