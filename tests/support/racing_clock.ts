import { FakeClock, systemClock } from "../../src/base/clock.ts";

/** A clock by which everything takes long: work in turns pauses after each step. */
export class RacingClock extends FakeClock {
  override monotonicMs(): number {
    this.advance(3);
    return super.monotonicMs();
  }
}

/**
 * Returns how many turns other work has while `work` runs, by the program's own clock, which races
 * meanwhile: how much fits into a turn doesn't depend on the machine.
 */
export async function otherTurns(work: () => Promise<unknown>): Promise<number> {
  const { monotonicMs } = systemClock;
  const racing = new RacingClock();
  const race = () => racing.monotonicMs();
  systemClock.monotonicMs = race;
  let turns = 0;
  const count = () => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  try {
    await work();
  } finally {
    clearImmediate(next);
    systemClock.monotonicMs = monotonicMs;
  }
  return turns;
}
