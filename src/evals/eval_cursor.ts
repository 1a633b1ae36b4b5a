import type { EvalResult, EvalRun, ResultCursor, RunCursor } from "./eval.ts";
import { Fault, invalidValue } from "../shared/fault.ts";

/**
 * Returns the end of a page of runs as text, which callers send back unchanged for the next page.
 */
export function runCursor(page: readonly EvalRun[]): string {
  const { createdAt, evalRunId } = page.at(-1)!;
  return `${createdAt.toISOString()}_${evalRunId}`;
}

export function readRunCursor(text: string): RunCursor {
  const [, time = "", evalRunId = ""] = /^(\S{24})_([\w-]+)$/.exec(text) ?? [];
  const createdAt = new Date(time);
  // No run is older than 1970, and databases have no year 0.
  if (!(createdAt.getTime() >= 0)) throw invalidCursor();
  return { createdAt, evalRunId };
}

export function resultCursor(page: readonly EvalResult[]): string {
  const { transactionId, graderIndex } = page.at(-1)!;
  return `${transactionId}_${graderIndex}`;
}

export function readResultCursor(text: string): ResultCursor {
  const [, transactionId, index] = /^([\w-]+)_(\d{1,4})$/.exec(text) ?? [];
  if (transactionId === undefined) throw invalidCursor();
  return { transactionId, graderIndex: Number(index) };
}

function invalidCursor(): Fault {
  return invalidValue("after", "expected `next` of the previous page");
}
