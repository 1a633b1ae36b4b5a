import { defined } from "../../base/defined.ts";
import type { Usage } from "../../shared/usage.ts";
import type { DialectQuirks } from "./dialect.ts";
import { optionalField } from "./fields.ts";
import { count, isRecord, type JsonRecord, miscounts } from "./json.ts";

/**
 * Returns the tokens that a usage object reports under these two names. An absent one follows from
 * `total_tokens`, or else is 0 and named as unreported. Undefined if both are absent, or one isn't a
 * count.
 */
export function reportedTokens(
  raw: unknown,
  inputName: string,
  outputName: string,
): { raw: JsonRecord } & Totals | undefined {
  if (!isRecord(raw) || miscounts(raw, inputName, outputName)) return undefined;
  const [input, output] = [count(raw[inputName]), count(raw[outputName])];
  if (input === undefined && output === undefined) return undefined;
  return { raw, ...totalsOf(input, output, count(raw.total_tokens)) };
}

type Totals = Pick<Usage, "input" | "output" | "unreported">;

/** Returns both totals, one of which may follow from their sum. */
export function totalsOf(
  input: number | undefined,
  output: number | undefined,
  sum: number | undefined,
): Totals {
  if (input !== undefined && output !== undefined) return { input, output };
  const other = (sum ?? 0) - (input ?? output ?? 0);
  // Some sums count only what is reported.
  if (other > 0) return { input: input ?? other, output: output ?? other };
  return {
    input: input ?? 0,
    output: output ?? 0,
    unreported: input === undefined ? "input" : "output",
  };
}

/** A report whose missing total is the estimate's; what it has of that total is the least. */
export function withMissingTotal<U extends Usage>(
  { unreported, ...named }: U,
  { input, audioInput, output, audioOutput, imageOutput }: Readonly<Usage>,
): Omit<U, "unreported"> {
  if (unreported === "output") {
    // Only thoughts are reported apart from the output.
    return { ...named, output: named.output + output, ...defined({ audioOutput, imageOutput }) };
  }
  const least = Math.max(named.input, named.cacheRead ?? 0, named.imageInput ?? 0);
  return { ...defined({ audioInput }), ...named, input: Math.max(input, least) };
}

/**
 * Whether a usage lacks one of the totals that `pieces` of media have and tells the other. No
 * output tokens at all are no report of media.
 */
export function isHalfReported(
  usage: Pick<Usage, "unreported" | "output"> | undefined,
  pieces: number,
): boolean {
  if (usage?.unreported === "output") return pieces > 0;
  return usage?.unreported === "input" && (pieces === 0 || usage.output > 0);
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
  { input, output, unreported }: Totals,
  { cacheRead = 0, reasoning = 0, total }: Readonly<
    Record<"cacheRead" | "reasoning" | "total", number | undefined>
  >,
  quirks: DialectQuirks,
): Totals {
  const isBeside = quirks.additiveReasoning === true && total !== input + output;
  return {
    input: cacheRead > input ? input + cacheRead : input,
    output: isBeside ? output + reasoning : output,
    ...optionalField("unreported", unreported),
  };
}

/** Returns the sum of the known values; undefined if neither is known. */
export function sumOfKnown(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0);
}
