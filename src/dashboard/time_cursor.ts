import { isStorableTime } from "../shared/time_span.ts";

/** Where a page of a list by time ended: a row's time and id. */
export interface TimeCursor {
  at: Date;
  id: string;
}

/** As an address carries it. */
export function timeCursor(at: Date, id: string): string {
  return encodeURIComponent(`${at.toISOString()}_${id}`);
}

/** Undefined for none, and for what is no place: the list begins at its first page then. */
export function readTimeCursor(text: string | undefined): TimeCursor | undefined {
  const [, time = "", id] = /^(\S{24})_([\w-]{1,100})$/.exec(text ?? "") ?? [];
  const at = new Date(time);
  return id !== undefined && isStorableTime(at) ? { at, id } : undefined;
}
