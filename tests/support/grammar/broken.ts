import assert from "@std/assert";
import { GrammarError } from "./frames.ts";

/** Payloads of a stream that a row of a table may change. */
export type Payloads = Record<string, unknown>[];

/** A stream that breaks a rule, and what the grammar says about it. */
export type BrokenRow = readonly [name: string, reason: RegExp, stream: string];

/** Registers a test for each broken stream: a grammar that lets one through is no grammar. */
export function refuses(
  dialect: string,
  check: (stream: string) => unknown,
  rows: readonly BrokenRow[],
): void {
  for (const [name, reason, stream] of rows) {
    Deno.test(`the ${dialect} grammar refuses: ${name}`, () => {
      assert.throws(() => check(stream), (thrown: unknown) => {
        const isGrammar = thrown instanceof GrammarError;
        assert.match(isGrammar ? thrown.message : `no verdict: ${thrown}`, reason);
        return true;
      });
    });
  }
}

/** The payloads with one of them changed at a place named by keys. */
export function changed(
  payloads: Payloads,
  index: number,
  keys: readonly (string | number)[],
  value: unknown,
): Payloads {
  const copy = structuredClone(payloads);
  let place: Record<string | number, unknown> = copy.at(index)!;
  for (const key of keys.slice(0, -1)) place = place[key] as Record<string | number, unknown>;
  const last = keys.at(-1)!;
  if (value === undefined) delete place[last];
  else place[last] = value;
  return copy;
}

/** The payloads with some taken out and others put in their place. */
export function spliced(
  payloads: Payloads,
  index: number,
  remove: number,
  ...insert: Payloads
): Payloads {
  return payloads.toSpliced(index, remove, ...structuredClone(insert));
}
