/** The attackers, on a thread of their own. */
import { type Attacker, attackers, type Target } from "./attackers.ts";

/** What the worker is asked to do: each kind of attack from the account at its place. */
export interface Orders {
  targets: readonly Target[];
  seconds: number;
}

/** Rounds that each kind of attack made, and how many of them ended in an error of the network. */
export type AttackReport = Record<string, { rounds: number; broken: number }>;

const scope = globalThis as unknown as Worker;
scope.addEventListener("message", async (event: MessageEvent<Orders>) => {
  const { targets, seconds } = event.data;
  const over = AbortSignal.timeout(seconds * 1000);
  const report: AttackReport = {};
  await Promise.all(attackers.map(async (attacker, at) => {
    report[attacker.name] = await attack(attacker, targets[at % targets.length]!, over);
  }));
  scope.postMessage(report);
});

async function attack(attacker: Attacker, target: Target, over: AbortSignal) {
  const count = { rounds: 0, broken: 0 };
  while (!over.aborted) {
    try {
      await attacker.round(target, over);
      count.rounds++;
    } catch {
      // A connection that is closed on an attacker is an answer too.
      count.broken++;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  return count;
}
