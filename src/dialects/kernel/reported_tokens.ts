import type { Usage } from "../../shared/usage.ts";
import type { DialectQuirks } from "./dialect.ts";
import { count, isRecord, type JsonRecord, miscounts } from "./json.ts";

/**
 * Returns the tokens that a usage object reports under these two names; an absent one is 0.
 * Undefined if both are absent, or one isn't a count.
 */
export function reportedTokens(
  raw: unknown,
  inputName: string,
  outputName: string,
): { raw: JsonRecord; input: number; output: number } | undefined {
  if (!isRecord(raw) || miscounts(raw, inputName, outputName)) return undefined;
  const [input, output] = [count(raw[inputName]), count(raw[outputName])];
  if (input === undefined && output === undefined) return undefined;
  return { raw, input: input ?? 0, output: output ?? 0 };
}

/**
 * Whether a usage reports the vendor's cost, and that cost is trusted (`ignoresCost`: it isn't).
 */
export function reportsTrustedCost(
  usage: Pick<Usage, "vendorCostUsd"> | undefined,
  ignoresCost: boolean | undefined,
): boolean {
  return !ignoresCost && usage?.vendorCostUsd !== undefined;
}

/**
 * Returns the complete input and output. A vendor that reports more cached tokens than input
 * doesn't include them in the input. Some report reasoning in addition to the output
 * (`additiveReasoning`); it is added unless their total shows that the output includes it.
 */
export function wholeTokens(
  { input, output }: { input: number; output: number },
  { cacheRead = 0, reasoning = 0, total }: Readonly<
    Record<"cacheRead" | "reasoning" | "total", number | undefined>
  >,
  quirks: DialectQuirks,
): { input: number; output: number } {
  const isBeside = quirks.additiveReasoning === true && total !== input + output;
  return {
    input: cacheRead > input ? input + cacheRead : input,
    output: isBeside ? output + reasoning : output,
  };
}

/** Returns the sum of the known values; undefined if neither is known. */
export function sumOfKnown(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0);
}
