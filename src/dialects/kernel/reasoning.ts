import type { Reasoning } from "./canonical_request.ts";

export const effortLevels = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** Returns the effort, or the effort that corresponds to the budget. */
export function effortOf({ effort, budgetTokens: budget }: Reasoning): Reasoning["effort"] {
  if (effort !== undefined) return effort;
  if (budget === undefined || budget < 0) return undefined;
  if (budget === 0) return "none";
  return budget < 2048 ? "low" : budget < 8192 ? "medium" : "high";
}

/**
 * Returns the wanted level if it is supported, else the next higher one that is, else the highest.
 * Both lists ascend.
 */
export function nearestLevel<Level>(
  wanted: Level,
  { levels, supported }: { levels: readonly Level[]; supported: readonly Level[] },
): Level {
  return levels.slice(levels.indexOf(wanted)).find((level) => supported.includes(level)) ??
    supported.at(-1)!;
}

/** The documented placeholder for a missing signature. */
export const signatureSentinel = "skip_thought_signature_validator";

/**
 * Both documented placeholders: as text, and base64-encoded by clients that hold signatures as
 * bytes.
 */
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
 * The thought signature that a client sent; undefined if it sent none or a placeholder, so that the
 * gateway's stored one is restored.
 */
export function carriedSignature(value: string | undefined): string | undefined {
  if (value === undefined || value === "") return undefined;
  // Looking up long texts is slow (see `maxNameUnits`), and signatures may be long.
  return value.length < 100 && sentinels.has(value) ? undefined : value;
}
