import assert from "@std/assert";
import { interactionRow } from "../../../tests/support/interaction_row.ts";
import { createCallJournal } from "./call_journal.ts";

Deno.test("a call that begins after its deletion has no begin record, but does have an end", async () => {
  const did: string[] = [];
  const journal = createCallJournal({
    admit: () => void did.push("admit"),
    begin: ({ transactionId }) => void did.push(`begin ${transactionId}`),
    end: ({ transactionId }) => Promise.resolve(void did.push(`end ${transactionId}`)),
  }, ({ transactionId }) => transactionId === "erased");
  for (const id of ["erased", "other"]) {
    journal.begin(interactionRow(id));
    await journal.end(interactionRow(id));
  }
  assert.deepEqual(did, ["admit", "end erased", "begin other", "end other"]);
});
