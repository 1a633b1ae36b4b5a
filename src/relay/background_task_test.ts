import assert from "@std/assert";
import { responses } from "../dialects/text/responses/mod.ts";
import { BackgroundTask } from "./background_task.ts";

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
