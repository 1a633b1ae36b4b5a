import assert from "@std/assert";
import { wideLimits } from "../../tests/support/listener.ts";
import { Connection } from "./connection.ts";
import type { ConnectionLimits } from "./limits.ts";

/** A connection with a wire that the test moves. */
function setUp(isShaking = false, limits: Partial<ConnectionLimits> = {}) {
  const state = { bytesRead: 0, bytesWritten: 0, writableLength: 0, isPaused: false };
  const wire = { ...state, isPaused: () => state.isPaused };
  const connection = new Connection({ ...wideLimits, ...limits }, 0, isShaking);
  const body = { complete: true };
  const answer = { writableEnded: false, headersSent: false };
  return {
    state,
    wire,
    connection,
    body,
    answer,
    begin: (nowMs: number) => connection.requestBegan(body, answer, wire, nowMs),
    look: (nowMs: number) => connection.check(wire, nowMs),
  };
}

Deno.test("the first head has its time from the beginning on, the handshake too", () => {
  const { connection, wire, look } = setUp(true);
  assert.equal(look(14_999), undefined);
  assert.equal(look(15_000), "slow_handshake");
  connection.handshakeEnded(10_000);
  wire.bytesRead = 5;
  assert.equal(look(24_999), undefined);
  wire.bytesRead = 10;
  assert.equal(look(25_000), "slow_head");
  assert.equal(connection.hasHeadBegun, true);
});

Deno.test("between requests it may be idle; a head that began there has its own time", () => {
  const { connection, wire, begin, look } = setUp();
  wire.bytesRead = 100;
  begin(0);
  assert.equal(look(1_000_000), undefined, "we are at work");
  connection.answerEnded(wire, 1_000_000);
  assert.equal(look(1_074_999), undefined);
  wire.bytesRead = 101;
  assert.equal(look(1_075_000), undefined);
  wire.bytesRead = 102;
  assert.equal(look(1_089_999), undefined, "a head that drips has no more time");
  assert.equal(look(1_090_000), "slow_head");
  // That head is complete, and the whole call lies between two looks.
  wire.bytesRead = 200;
  begin(1_090_001);
  wire.bytesRead = 300;
  connection.answerEnded(wire, 1_090_002);
  assert.equal(look(1_165_001), undefined);
  assert.equal(look(1_165_002), undefined);
  assert.equal(look(1_166_000), "idle");
});

Deno.test("a connection that says nothing between requests is idle", () => {
  const { connection, wire, begin, look } = setUp();
  begin(0);
  connection.answerEnded(wire, 0);
  assert.equal(look(74_999), undefined);
  assert.equal(look(75_000), undefined, "its next request may have arrived unread");
  assert.equal(look(76_000), "idle");
});

Deno.test("a request that arrived while the process was held up past the idle limit is read", () => {
  const { connection, wire, begin, look } = setUp();
  begin(0);
  connection.answerEnded(wire, 0);
  assert.equal(look(75_000), undefined);
  wire.bytesRead = 90;
  begin(75_001);
  assert.equal(look(76_000), undefined);
  connection.answerEnded(wire, 80_000);
  assert.equal(look(154_999), undefined);
  assert.equal(look(155_000), undefined, "it has two looks each time");
  wire.bytesRead = 91;
  assert.equal(look(156_000), undefined, "its next head has begun");
  assert.equal(look(171_000), "slow_head");
  // Of the second rest nothing was looked at before it was over.
  const stuck = setUp();
  stuck.begin(0);
  stuck.connection.answerEnded(stuck.wire, 0);
  assert.equal(stuck.look(75_000), undefined);
  stuck.begin(75_001);
  stuck.connection.answerEnded(stuck.wire, 75_002);
  assert.equal(stuck.look(160_000), undefined);
  assert.equal(stuck.look(161_000), "idle");
});

Deno.test("a refusal can be sent where no answer has begun, and no other request is answered", () => {
  const { connection, wire, answer, begin } = setUp();
  assert.equal(connection.isAnswerable, true);
  begin(0);
  assert.equal(connection.isAnswerable, true);
  answer.headersSent = true;
  assert.equal(connection.isAnswerable, false);
  answer.headersSent = false;
  begin(1);
  assert.equal(connection.isAnswerable, false, "the answer to the first one comes first");
  connection.answerEnded(wire, 2);
  assert.equal(connection.isAnswerable, true);
});

Deno.test("a body that drips is slow, one at 30 KB/s isn't, time without reading doesn't count", () => {
  const drip = setUp();
  drip.body.complete = false;
  drip.begin(0);
  let result;
  for (let second = 1; second <= 30; second++) {
    drip.wire.bytesRead += 100;
    result = drip.look(second * 1000);
  }
  assert.equal(result, "slow_body");
  const honest = setUp();
  honest.body.complete = false;
  honest.begin(0);
  for (let second = 1; second <= 300; second++) {
    honest.wire.bytesRead += 30_000;
    assert.equal(honest.look(second * 1000), undefined);
  }
  honest.state.isPaused = true;
  for (let second = 301; second <= 600; second++) {
    assert.equal(honest.look(second * 1000), undefined, "we don't read");
  }
  honest.state.isPaused = false;
  assert.equal(honest.look(601_000), undefined);
  assert.equal(honest.look(630_999), undefined);
  assert.equal(honest.look(631_000), "slow_body", "now it is silent");
});

Deno.test("a body is slow when it pauses, or drips after a fast beginning; rest before it doesn't count", () => {
  const { connection, wire, body, begin, look } = setUp(false, { bodyMs: 10_000 });
  begin(0);
  connection.answerEnded(wire, 0);
  wire.bytesRead = 100;
  body.complete = false;
  begin(60_000);
  assert.equal(look(69_999), undefined);
  for (let second = 70; second <= 99; second++) {
    wire.bytesRead += 30_000;
    assert.equal(look(second * 1000), undefined);
  }
  assert.equal(look(108_999), undefined);
  assert.equal(look(109_000), "slow_body", "nothing for ten seconds");
  for (let second = 109; second < 150; second++) {
    wire.bytesRead += 100;
    assert.equal(look(second * 1000), undefined);
  }
  wire.bytesRead += 100;
  assert.equal(look(150_000), "slow_body", "too little in thirty");
});

Deno.test("an answer of which nothing is taken is unread; pieces of a large one are progress", () => {
  const { wire, connection, answer, begin, look } = setUp();
  begin(0);
  wire.bytesWritten = wire.writableLength = 1_000_000;
  assert.equal(look(0), undefined);
  assert.equal(look(299_999), undefined);
  connection.piecesTaken++;
  assert.equal(look(300_000), undefined);
  // What we add to it is no progress.
  wire.bytesWritten = wire.writableLength = 3_000_000;
  assert.equal(look(599_999), undefined);
  assert.equal(look(600_000), "unread");
  wire.writableLength = 0;
  assert.equal(look(600_001), undefined);
  // A complete one has less time.
  answer.writableEnded = true;
  wire.writableLength = 10;
  assert.equal(look(600_002), undefined);
  assert.equal(look(675_002), "unread");
});
