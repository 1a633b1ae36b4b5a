import assert from "@std/assert";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import { Fault } from "../../src/shared/fault.ts";
import {
  createUpstream,
  isAbort,
  type Upstream,
  type UpstreamOptions,
  type UpstreamRequest,
} from "../../src/vendors/upstream.ts";
import { FakeTimers } from "./fake_timers.ts";
import { type FakeVendor, startFakeVendor } from "./fake_vendor.ts";

const timeouts = { connectMs: 5000, firstByteMs: 120_000, idleMs: 60_000 };

export interface Setup {
  timers: FakeTimers;
  upstream: Upstream;
  vendor: FakeVendor;
  post(more?: Partial<UpstreamRequest>): ReturnType<Upstream["call"]>;
}

/** Runs a test with one vendor and one client; time moves only by `timers.advance`. */
export async function withVendor(
  run: (setup: Setup) => Promise<void>,
  options: Partial<UpstreamOptions> = {},
): Promise<void> {
  const timers = new FakeTimers();
  const vendor = await startFakeVendor();
  const upstream = createUpstream({
    clock: timers.clock,
    setTimer: timers.later,
    random: () => 0,
    timeouts,
    maxAnswerBytes: 1 << 20,
    settleMs: 0,
    ...options,
  });
  const signal = new AbortController().signal;
  const post: Setup["post"] = (more = {}) =>
    upstream.call({
      url: `${vendor.url}/v1/chat/completions`,
      method: "POST",
      headers: { authorization: "Bearer vendor-key" },
      body: "{}",
      signal,
      ...more,
    });
  try {
    await run({ timers, upstream, vendor, post });
    assert.equal(timers.pending, 0, "no timer is left behind");
  } finally {
    upstream.close();
    await vendor.close();
  }
}

export async function text(answer: { body: { readAll(max: number): Promise<Uint8Array> } }) {
  return new TextDecoder().decode(await answer.body.readAll(1 << 20));
}

export async function rejectsWith(promise: Promise<unknown>, code: ErrorCode): Promise<Fault> {
  const thrown = await promise.then(() => undefined, (reason: unknown) => reason);
  if (!(thrown instanceof Fault)) throw new Error(`Expected the fault ${code}, got ${thrown}`);
  assert.equal(thrown.code, code);
  assert.doesNotMatch(thrown.message + thrown.note, /127\.0\.0\.1|:\d{4}|vendor-key/);
  return thrown;
}

export async function rejectsAborted(promise: Promise<unknown>): Promise<void> {
  const thrown = await promise.then(() => undefined, (reason: unknown) => reason);
  assert.equal(isAbort(thrown), true, String(thrown));
}

/**
 * Waits some turns of the event loop, for tests that something doesn't happen. There are enough
 * turns for the runtime, which polls its sockets every 61.
 */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 150; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Makes a call that leaves an open connection, which the next call will use. */
export async function keepConnection(
  { vendor, post }: Pick<Setup, "vendor" | "post">,
): Promise<void> {
  const calling = post();
  await (await vendor.next()).answer(200, "kept");
  await text(await calling);
}

/** Waits, turn by turn of the event loop, until the condition holds. */
export async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn++) {
    if (turn > 200_000) throw new Error(`Waited in vain for ${holds}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
