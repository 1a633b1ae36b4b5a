import assert from "@std/assert";
import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import type { Admission } from "../overload/admission.ts";
import { createFrontDoor } from "./front_door.ts";

/** A front door before a service that has no room, at a pace of so many calls a second. */
function fullHouse(pacePerSecond: number) {
  const { clock, later, ...timers } = bound(new FakeTimers());
  const admission: Pick<Admission, "enter" | "ended" | "pacePerSecond"> = {
    enter: () => ({ retryAfterSeconds: 7 }),
    ended() {},
    pacePerSecond,
  };
  const door = createFrontDoor({
    admission,
    errorDialect: () => "service",
    clock,
    setTimer: later,
  });
  const guarded = door.guard(() => assert.fail("a call was let in"));
  const told: { status: number; headers: readonly string[] }[] = [];
  const knock = () => {
    const caller = Object.assign(new EventEmitter(), {
      destroyed: false,
      writeHead: (status: number, headers: string[]) => told.push({ status, headers }),
      end() {},
    });
    const incoming = { url: "/api/v1/status", headers: {}, socket: { remoteAddress: "::1" } };
    guarded(incoming as IncomingMessage, caller as unknown as ServerResponse);
    return caller;
  };
  return { told, knock, ...timers };
}

function bound(timers: FakeTimers) {
  return {
    clock: timers.clock,
    later: timers.later,
    advance: (ms: number) => timers.advance(ms),
    pending: () => timers.pending,
  };
}

Deno.test("a refusal is sent half a second later, with the queue's time in Retry-After", () => {
  const { told, knock, advance, pending } = fullHouse(100);
  knock();
  advance(499);
  assert.equal(told.length, 0);
  advance(2);
  assert.equal(told.length, 1);
  const { status, headers } = told[0]!;
  assert.equal(status, 503);
  assert.equal(headers[headers.indexOf("retry-after") + 1], "7");
  assert.equal(pending(), 0, "nothing is looked at while nobody waits");
});

for (const [pace, perSecond] of [[10, 100], [150, 300], [5_000, 600]] as const) {
  Deno.test(`at a pace of ${pace} calls a second ${perSecond} refusals are told in one`, () => {
    const { told, knock, advance } = fullHouse(pace);
    for (let one = 0; one < 1_900; one++) knock();
    advance(500 + 2_000);
    assert.ok(Math.abs(told.length - 2 * perSecond) < 20, `${told.length}`);
  });
}

Deno.test("a caller that has left doesn't delay the waiting refusals", () => {
  const { told, knock, advance } = fullHouse(50);
  const left = Array.from({ length: 1_500 }, knock);
  const waiting = 50;
  for (let one = 0; one < waiting; one++) knock();
  for (const caller of left) caller.destroyed = true;
  advance(500 + 1_000);
  assert.equal(told.length, waiting);
});
