import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { ConnectionEvents } from "./connection_events.ts";

Deno.test("each reason gets a line in ten seconds, which counts all since its last one", () => {
  const clock = new FakeClock();
  const events = new ConnectionEvents(clock);
  const lines: unknown[] = [];
  const counted: [string, number][] = [];
  let open = 0;
  events.changed(1);
  events.changed(1);
  events.changed(-1);
  events.ended("full", "10.0.0.1");
  events.ended("full", "10.0.0.2");
  events.write();
  events.setListeners({
    log: { info() {}, error() {}, warn: (_, fields) => void lines.push(fields) },
    count: (reason, connections) => void counted.push([reason, connections]),
    changed: (by) => void (open += by),
  });
  assert.deepEqual([open, counted], [1, [["full", 2]]], "what came before is reported");
  events.changed(2);
  assert.equal(open, 3);
  events.write();
  assert.deepEqual(lines.splice(0), [{ reason: "full", connections: 2, last_peer: "10.0.0.2" }]);
  clock.advance(9_999);
  events.ended("full", "10.0.0.3");
  events.ended("malformed", "10.0.0.4");
  events.write();
  assert.deepEqual(lines.splice(0), [
    { reason: "malformed", connections: 1, last_peer: "10.0.0.4" },
  ]);
  clock.advance(1);
  events.write();
  events.write();
  assert.deepEqual(lines, [{ reason: "full", connections: 1, last_peer: "10.0.0.3" }]);
  assert.deepEqual(counted.slice(1), [["full", 1], ["malformed", 1]]);
});
