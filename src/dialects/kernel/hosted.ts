import type { HostedDimension } from "../../pricing/usage_parts.ts";

/**
 * What of a request runs at its vendor beside the model, or lives in the vendor's account. It
 * matters where many accounts share the service's own vendor key: work must have a price, and state
 * would be open to all of them.
 */
export interface HostedWork {
  readonly tools: readonly HostedTool[];
  /** State in the vendor's account that the request names or makes. */
  readonly state: readonly VendorState[];
  /** The caller's limit of uses of all tools together. */
  readonly maxUses?: number;
  /** Where the model is to run, in the price row's words; absent: anywhere. */
  readonly region?: { path: string; name: string };
  /** The dearer or cheaper service that is asked for, in the price row's words. */
  readonly tier?: { path: string; name: string };
}

export interface HostedTool {
  /** Path in the request. */
  readonly path: string;
  /** As the vendor calls it. */
  readonly name: string;
  readonly cost: ToolCost;
  /** The caller's own limit. */
  readonly maxUses?: number;
  /** Web searches that it makes whatever the answer says, since usage doesn't count them. */
  readonly unreportedSearches?: number;
  /** Prompt tokens that the results of one use add at most; the usual bound when absent. */
  readonly tokensPerUse?: number;
}

/** What a tool costs beside the tokens of the asked model. */
export type ToolCost =
  /** Nothing: the caller runs it, or it is paid for by its tokens. */
  | { readonly type: "none" }
  /** By the piece, at this price of the row. */
  | { readonly type: "per-use"; readonly dimension: HostedDimension }
  /** The tokens of another model, at that one's row. */
  | {
    readonly type: "model";
    readonly model: string;
    /** `instead`: one of several answers; `besides`: it works for the asked one, or after it. */
    readonly role: "instead" | "besides";
    /** Output tokens of one use; absent: as many as are asked for of the whole. */
    readonly maxOutputTokens?: number;
  }
  /** Known to the vendor alone. */
  | { readonly type: "unknown" };

export interface VendorState {
  readonly path: string;
  /** What clients of the dialect recover by; the dialect's `error.details`. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export const noCost: ToolCost = { type: "none" };
export const unknownCost: ToolCost = { type: "unknown" };

export function perUse(dimension: HostedDimension): ToolCost {
  return { type: "per-use", dimension };
}

/** Where a field names something. */
export function namedAt(
  path: string,
  value: unknown,
): { path: string; name: string } | undefined {
  return typeof value === "string" && value !== "" ? { path, name: value } : undefined;
}

/** The caller's limit where it is one: a whole number from 1. */
export function limitOf(value: unknown): { maxUses?: number } {
  return typeof value === "number" && Number.isFinite(value) && value >= 1
    ? { maxUses: Math.floor(value) }
    : {};
}
