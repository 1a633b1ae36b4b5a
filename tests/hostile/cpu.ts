/**
 * Judges how work grows with its input by the ratio of CPU times: those of this thread alone, since
 * other tests run beside this one.
 */
import assert from "@std/assert";
import process from "node:process";
import { Fault } from "../../src/shared/fault.ts";

/** Prepares an input of about so many characters; what it gives is the work to be measured. */
export type Work = (chars: number) => () => unknown;

/** Each four times the one before. */
const steps = [8_192, 32_768, 131_072, 524_288] as const;
/** Four times the input may take so many times as long: linear is 4, quadratic 16. */
const maxTimes = 8;
/** Shorter times say more about the collector of garbage than about the work. */
const minMs = 12;
const attempts = 5;

/** What is wrong as soon as four times the input takes eight times as long; else undefined. */
export function growth(name: string, work: Work, most: number = steps.at(-1)!): string | undefined {
  const told: string[] = [];
  let before: { ms: number; act: () => unknown } | undefined;
  for (const chars of steps.filter((one) => one <= most)) {
    const act = work(chars);
    let ms = msOf(act);
    const isSlow = () => before !== undefined && ms >= maxTimes * Math.max(before.ms, minMs);
    // Once may be chance; always isn't. A short time is known better from several.
    for (let again = 1; again < attempts && isSlow(); again++) {
      before!.ms = Math.max(before!.ms, msOf(before!.act, 8));
      ms = Math.min(ms, msOf(act));
    }
    told.push(`${chars}: ${ms.toFixed(1)} ms`);
    if (isSlow()) return `${name} grows faster than its input: ${told.join(", ")}`;
    before = { ms, act };
  }
  return undefined;
}

/** All that grow too fast are named at once. */
export function assertLinear(rows: Iterable<readonly [string, Work]>, most?: number): void {
  const wrong = [...rows].flatMap(([name, work]) => growth(name, work, most) ?? []);
  assert.ok(wrong.length === 0, `\n${wrong.join("\n")}`);
}

/** Refusing is an answer like any other; any other error isn't. */
function msOf(act: () => unknown, times = 1): number {
  const before = process.threadCpuUsage();
  const startedMs = performance.now();
  for (let time = 0; time < times; time++) {
    try {
      act();
    } catch (thrown) {
      if (!(thrown instanceof Fault) && !(thrown instanceof SyntaxError)) throw thrown;
    }
  }
  const { user, system } = process.threadCpuUsage(before);
  return Math.min((user + system) / 1000, performance.now() - startedMs) / times;
}

/** So many copies that there are about `chars` characters. */
export function copies<T>(chars: number, each: number, make: (index: number) => T): T[] {
  return Array.from({ length: Math.max(1, Math.floor(chars / each)) }, (_, index) => make(index));
}

/** A text of `chars` characters: a beginning, a run, an end. */
export function run(chars: number, unit: string, before = "", after = ""): string {
  return before + unit.repeat(Math.ceil(chars / unit.length)) + after;
}
