import type { HostedDimension } from "../../pricing/usage_parts.ts";
import { maxEntries } from "../../../contracts/kernel/common.ts";
import { invalidValue } from "../../shared/fault.ts";
import { type JsonRecord } from "./json.ts";

/**
 * The vendor-side work that a request asks for besides running the model, and the state in the
 * vendor's account that it uses. If many accounts share the service's own vendor key, such work
 * must have a price, and such state would be open to all of them.
 */
export interface HostedWork {
  readonly tools: readonly HostedTool[];
  /** State in the vendor's account that the request names or creates. */
  readonly state: readonly VendorState[];
  /** The caller's limit on uses of all tools together. */
  readonly maxUses?: number;
  /** Where the model must run, as price rows name it; absent: anywhere. */
  readonly region?: { path: string; name: string };
  /** The requested service tier, as price rows name it. */
  readonly tier?: { path: string; name: string };
  /** Upper bound of the prompt tokens of media that the vendor fetches; absent: there is none. */
  readonly fetchedTokens?: number;
}

export interface HostedTool {
  readonly path: string;
  /** The vendor's name of the tool. */
  readonly name: string;
  readonly cost: ToolCost;
  /** The caller's own limit. */
  readonly maxUses?: number;
  /** Web searches that the tool always makes and that usage doesn't report. */
  readonly unreportedSearches?: number;
  /** Maximum number of prompt tokens that the results of one use add; absent: the general limit. */
  readonly tokensPerUse?: number;
}

/** The cost of a tool beyond the tokens of the requested model. */
export type ToolCost =
  /** Nothing: the caller runs it, or it is billed by its tokens. */
  | { readonly type: "none" }
  /** Per use, at this price of the row. */
  | { readonly type: "per-use"; readonly dimension: HostedDimension }
  /** The tokens of another model, at the price of that model's row. */
  | {
    readonly type: "model";
    readonly model: string;
    /**
     * `instead`: it may answer in place of the requested model; `besides`: it works for it or after
     * it.
     */
    readonly role: "instead" | "besides";
    /** Output tokens of one use; absent: the limit of the whole answer. */
    readonly maxOutputTokens?: number;
    /** Likely output tokens of each picture that it draws; absent: it draws none. */
    readonly tokensPerPicture?: number;
    /** The request names no model: the vendor uses its default. */
    readonly isDefault?: boolean;
  }
  /** Known only to the vendor. `mayCallModels`: it may work with models that nothing names. */
  | { readonly type: "unknown"; readonly mayCallModels?: boolean };

export interface VendorState {
  readonly path: string;
  /** The dialect's `error.details`, which its clients use to recover. */
  readonly details?: JsonRecord;
}

export const noCost: ToolCost = { type: "none" };
export const unknownCost: ToolCost = { type: "unknown" };
export const mayCallModels: ToolCost = { type: "unknown", mayCallModels: true };

/** Tools that OpenRouter runs, in every dialect (npm @openrouter/sdk 1.3.19, `ChatFunctionTool`). */
const openRouterTools: Readonly<Record<string, ToolCost>> = {
  "openrouter:web_search": perUse("perWebSearch"),
  "openrouter:web_fetch": perUse("perWebSearch"),
  "openrouter:datetime": noCost,
  "openrouter:tool_search": noCost,
  "openrouter:apply_patch": noCost,
};

/** Returns the cost of the tool with this name; unknown if it isn't listed. */
export function costIn(costs: Readonly<Record<string, ToolCost>>, name: string): ToolCost {
  for (const listed of [costs, openRouterTools]) {
    if (Object.hasOwn(listed, name)) return listed[name]!;
  }
  return name.startsWith("openrouter:") ? mayCallModels : unknownCost;
}

/** Refuses more tools than any request has: all are gone through several times, each time at once. */
export function checkToolCount({ length }: readonly unknown[]): void {
  if (length <= maxEntries.turns) return;
  throw invalidValue("tools", `expected at most ${maxEntries.turns} in the whole request`);
}

/** The state that was found in a request, and how many of its elements have been read. */
export interface StateSearch {
  readonly state: VendorState[];
  elements: number;
}

/** Counts an element; true where a step should end, however elements are nested. */
export function endsStep(search: StateSearch): boolean {
  return ++search.elements % stepElements === 0;
}

const stepElements = 1024;

export function perUse(dimension: HostedDimension): ToolCost {
  return { type: "per-use", dimension };
}

export function namedAt(path: string, value: unknown): { path: string; name: string } | undefined {
  return typeof value === "string" && value !== "" ? { path, name: value } : undefined;
}

/** The caller's limit, rounded down, if it is a number of at least 1. */
export function limitOf(value: unknown): { maxUses?: number } {
  return typeof value === "number" && Number.isFinite(value) && value >= 1
    ? { maxUses: Math.floor(value) }
    : {};
}
