import assert from "@std/assert";
import { responses } from "../dialects/text/responses/mod.ts";
import { BackgroundTask, planBackground } from "./background_task.ts";

Deno.test("a background call ends as its answer did, which isn't parsed again", () => {
  for (const status of ["completed", "incomplete"] as const) {
    const task = new BackgroundTask({
      form: responses.background!,
      transactionId: "t1",
      responseId: "resp_1",
      queuedText: '{"id":"resp_1","created_at":1}',
    });
    const ending = { status: "completed", httpStatus: 200 } as const;
    task.answered({ id: "resp_v", status });
    const end = task.end(ending, "16 MB of JSON");
    assert.deepEqual(end, { responseId: "resp_1", state: status, answerText: null });
  }
});

Deno.test("a large event of a background call is changed in steps, as its plan does it", () => {
  const changed: unknown[] = [];
  const stream = {
    *changeAhead(event: unknown) {
      yield;
      changed.push(event);
    },
  };
  const plan = planBackground({ stream: () => stream } as never, {} as never);
  const event = { bytes: new Uint8Array(), data: "{}", terminated: true };
  assert.equal([...plan.stream().changeAhead!(event)].length, 1);
  assert.deepEqual(changed, [event]);
});
