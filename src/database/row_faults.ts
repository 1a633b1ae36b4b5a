import { Fault, messageOf } from "../shared/fault.ts";
import { codeOf } from "./postgres/faults.ts";

/**
 * What a write of rows that failed is told as: an error that lies in the rows as it is, all else as
 * a store that is away. A full disk, a deadlock, a server that only reads since its failover or a
 * table that a migration has yet to bring would otherwise count against each row.
 */
export function asRowFault(thrown: unknown): unknown {
  const code = codeOf(thrown);
  if (thrown instanceof Fault || code === undefined || !sqlState.test(code)) return thrown;
  if (ofRows.some((start) => code.startsWith(start))) return thrown;
  const note = `the store takes no rows (${code}): ${messageOf(thrown)}`;
  return new Fault("store_unavailable", { note, cause: thrown });
}

const sqlState = /^[0-9A-Z]{5}$/;
/**
 * Data exceptions, violated constraints, exceeded limits, and what the server has no other code
 * for, as a value that is too large (PostgreSQL's manual, "Error Codes").
 */
const ofRows = ["22", "23", "54", "XX000"];
