import type { z } from "zod";
import { deletionRequest, erasureRequest } from "../../contracts/data/deletion.ts";
import type { Selectors } from "./deletion.ts";
import { Fault } from "../shared/fault.ts";
import { timeSpan } from "../shared/time_span.ts";

/** The selectors of `DELETE /api/v1/data` and `POST /api/v1/data` together, and the reason. */
export const selectionRequest = deletionRequest.pick({
  tables: true,
  start_date: true,
  end_date: true,
  transaction_ids: true,
  session_ids: true,
}).extend({ user_id: erasureRequest.shape.user_id, reason: erasureRequest.shape.reason });

/** Reads the selectors of `DELETE /api/v1/data`. Throws faults that name the field. */
export function deletionSelectors(body: z.output<typeof deletionRequest>): Selectors {
  return atLeastOne(body, ["start_date", "end_date", "transaction_ids", "session_ids"]);
}

/** Reads the selectors of `POST /api/v1/data`. Throws faults that name the field. */
export function erasureSelectors(body: z.output<typeof erasureRequest>): Selectors {
  return atLeastOne(body, ["user_id", "transaction_ids"]);
}

/** Reads selectors of any kind. Throws faults that name the field. */
export function anySelectors(body: z.output<typeof selectionRequest>): Selectors {
  return atLeastOne(body, [
    "user_id",
    "session_ids",
    "transaction_ids",
    "start_date",
    "end_date",
  ]);
}

type Asked = Partial<z.output<typeof selectionRequest>>;

function atLeastOne(asked: Asked, fields: readonly [keyof Asked, ...(keyof Asked)[]]): Selectors {
  const selectors = selectorsOf(asked);
  if (Object.keys(selectors).length > 0) return selectors;
  throw new Fault("missing_required_field", {
    param: fields[0],
    message: `${fields[0]}: give at least one of ${fields.join(", ")}.`,
  });
}

function selectorsOf(asked: Asked): Selectors {
  return {
    ...timeSpan(asked),
    ...(asked.user_id === undefined ? {} : { userIds: [asked.user_id] }),
    ...listed("transactionIds", asked.transaction_ids),
    ...listed("sessionIds", asked.session_ids),
  };
}

/** Leaves out an empty list: as a selector it would match everything. */
function listed<Name extends string>(
  name: Name,
  ids: readonly string[] | undefined,
): { [_ in Name]?: readonly string[] } {
  if (ids === undefined || ids.length === 0) return {};
  return { [name]: ids } as { [_ in Name]?: readonly string[] };
}
