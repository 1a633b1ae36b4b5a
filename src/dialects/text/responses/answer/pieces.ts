/** What of a whole text has not come in pieces yet, by length: nothing can be taken back. */
export function missingFrom(whole: unknown, received: number): string {
  return typeof whole === "string" ? whole.slice(received) : "";
}

/** An index that a vendor may have left out. */
export function indexOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
