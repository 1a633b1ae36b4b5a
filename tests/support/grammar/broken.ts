import assert from "@std/assert";
import { GrammarError } from "./frames.ts";

/** The payloads of a stream, which tests change to break it. */
export type Payloads = Record<string, unknown>[];

/** A stream that breaks a rule, and the reason that the grammar must give. */
export type BrokenRow = readonly [name: string, reason: RegExp, stream: string];

/** Registers a test for each broken stream: the grammar must refuse it for its reason. */
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

/** Returns the payloads with a value set, or deleted, at a path of keys in one of them. */
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

/** Returns the payloads with some removed and others inserted in their place. */
export function spliced(
  payloads: Payloads,
  index: number,
  remove: number,
  ...insert: Payloads
): Payloads {
  return payloads.toSpliced(index, remove, ...structuredClone(insert));
}
