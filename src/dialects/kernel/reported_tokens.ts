/** A vendor that reports more cached tokens than input tokens doesn't include them in the input. */
export function wholeInput(input: number, cacheRead: number | undefined): number {
  return cacheRead !== undefined && cacheRead > input ? input + cacheRead : input;
}

/** Some vendors report reasoning beside the output; it is added only if their total confirms it. */
export function wholeOutput(reported: {
  input: number;
  output: number;
  reasoning: number;
  total: number | undefined;
  additive: boolean;
}): number {
  const { input, output, reasoning, total, additive } = reported;
  return additive && total !== input + output ? output + reasoning : output;
}

/** Undefined where neither is known. */
export function sumOfKnown(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0);
}
