import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { storeLastRecords } from "./last_records.ts";

Deno.test("the end waits five seconds for records, however many the database has yet to take", async () => {
  const timers = new FakeTimers();
  const done: unknown[] = [];
  const recorder = {
    waiting: 186,
    drain: () => new Promise<never>(() => {}),
    close: () => void done.push("closed"),
  };
  const log = { warn: (line: string, fields: unknown) => void done.push(line, fields) };
  const ending = storeLastRecords(recorder, log, timers.later);
  timers.advance(4_999);
  assert.deepEqual(done, []);
  timers.advance(1);
  await ending;
  const line = "records that the database did not take in time stay in the journal";
  assert.deepEqual(done, ["closed", line, { waiting: 186 }]);
  assert.equal(timers.pending, 0);
});
