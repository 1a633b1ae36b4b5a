import { systemClock } from "../../src/base/clock.ts";
import type { ConnectionLimits } from "../../src/listener/limits.ts";
import {
  type Handle,
  type Listener,
  type ListenOptions,
  openListener,
} from "../../src/listener/open.ts";

/** Limits that are wide enough for tests of other things. */
export const wideLimits: ConnectionLimits = {
  headMs: 15_000,
  bodyMs: 30_000,
  bodyBytesPerSecond: 1024,
  rateSpanMs: 30_000,
  idleMs: 75_000,
  unreadMs: 300_000,
  most: 1000,
  maxPerPeer: 1000,
};

/** Opens a listener on loopback; `given` overrides limits. Refusals have their reason as body. */
export function openTestListener(
  handle: Handle,
  given: Partial<ConnectionLimits> = {},
  more: Partial<ListenOptions> = {},
): Promise<Listener> {
  const options = { host: "127.0.0.1", port: 0, refuse, clock: systemClock };
  return openListener({ ...options, limits: { ...wideLimits, ...given }, ...more }, handle);
}

const statuses: Readonly<Record<string, number>> = { too_large: 431, too_slow: 408, full: 503 };

function refuse(why: string) {
  return { status: statuses[why] ?? 400, headers: { "x-why": why }, body: `${why}!` };
}
