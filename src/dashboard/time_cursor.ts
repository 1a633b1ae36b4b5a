import { isStorableTime } from "../shared/time_span.ts";

/** The end of a page in a list by time: the last row's time and id. */
export interface TimeCursor {
  at: Date;
  id: string;
}

/** Encodes a cursor for an address. */
export function timeCursor(at: Date, id: string): string {
  return encodeURIComponent(`${at.toISOString()}_${id}`);
}

/** Decodes a cursor. Undefined if it is missing or invalid: the list shows its first page then. */
export function readTimeCursor(text: string | undefined): TimeCursor | undefined {
  const [, time = "", id] = /^(\S{24})_([\w-]{1,100})$/.exec(text ?? "") ?? [];
  const at = new Date(time);
  return id !== undefined && isStorableTime(at) ? { at, id } : undefined;
}
