import type { Usage } from "../../shared/usage.ts";
import type { DialectQuirks } from "./dialect.ts";
import { count, isRecord, type JsonRecord, miscounts } from "./json.ts";

/**
 * The tokens that a usage object reports under these two names; one that is absent is 0. Undefined
 * where both are, or where one is no count.
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

/** Whether a usage says what the vendor charged, and it is believed (`ignoresCost`: it isn't). */
export function tellsCost(
  usage: Pick<Usage, "vendorCostUsd"> | undefined,
  ignoresCost: boolean | undefined,
): boolean {
  return !ignoresCost && usage?.vendorCostUsd !== undefined;
}

/**
 * Input and output with all that belongs to them. A vendor that reports more cached tokens than input
 * doesn't include them in the input. Some report reasoning beside the output (`additiveReasoning`);
 * it is added only if their total confirms it.
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

/** Undefined where neither is known. */
export function sumOfKnown(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0);
}
