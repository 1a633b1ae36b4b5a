import type { IsErased, Journal } from "./journal.ts";

/**
 * Returns the journal for calls. A call that a deletion covers before it begins, for instance since
 * its body was sent slowly, has no begin record: its text would stay there until it ends.
 */
export function createCallJournal(
  journal: Pick<Journal, "admit" | "begin" | "end">,
  isErased: IsErased,
): Pick<Journal, "begin" | "end"> {
  return {
    begin: (call) => isErased(call) ? journal.admit() : journal.begin(call),
    end: (call) => journal.end(call),
  };
}
