import { FakeClock } from "../../src/base/clock.ts";

/** A clock by which everything takes long: work in turns pauses after each step. */
export class RacingClock extends FakeClock {
  override monotonicMs(): number {
    this.advance(3);
    return super.monotonicMs();
  }
}
