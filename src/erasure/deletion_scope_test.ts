import assert from "@std/assert";
import { cohortOutcome } from "../../contracts/data/cohort.ts";
import { deletionRequest, erasureRequest } from "../../contracts/data/deletion.ts";
import { deletionSelectors, erasureSelectors } from "./deletion_scope.ts";

const id = "0197e0c2-5b1c-7aaa-8bbb-0123456789ab";

Deno.test("a transaction is erased, and its outcome linked, whatever the case of its id", () => {
  const transaction_ids = [id.toUpperCase(), id, "Not-A-Uuid"];
  const session_ids = [id.toUpperCase()];
  const selected = [id, id, "Not-A-Uuid"];
  assert.deepEqual(deletionSelectors(deletionRequest.parse({ transaction_ids, session_ids })), {
    ...{ transactionIds: selected, sessionIds: session_ids },
  });
  assert.deepEqual(
    erasureSelectors(erasureRequest.parse({ transaction_ids, reason: "asked" })),
    { transactionIds: selected },
  );
  const conversion = { type: "clicks", value: 1, transaction_id: id.toUpperCase() };
  const { conversions } = cohortOutcome.parse({ cohort_id: "c", conversions: [conversion] });
  assert.equal(conversions[0]!.transaction_id, id);
});

Deno.test("a deletion that selects nothing is refused: it would match everything", () => {
  const code = "missing_required_field";
  const fields = "start_date, end_date, transaction_ids, session_ids";
  for (const body of [{}, { transaction_ids: [], session_ids: [] }]) {
    assert.throws(() => deletionSelectors(deletionRequest.parse(body)), {
      ...{ code, param: "start_date" },
      message: `start_date: give at least one of ${fields}.`,
    });
  }
  const erasure = (body: Record<string, unknown>) =>
    erasureSelectors(erasureRequest.parse({ ...body, reason: "asked" }));
  assert.throws(() => erasure({ transaction_ids: [] }), { code, param: "user_id" });
  assert.deepEqual(erasure({ user_id: "ann", transaction_ids: [] }), { userIds: ["ann"] });
});
