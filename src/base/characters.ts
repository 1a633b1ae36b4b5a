/**
 * Counts characters as price lists do: Unicode code points. Counts in place, since a text may have
 * thirty million: making a list of them would block the event loop for seconds.
 */
export function characters(text: string): number {
  let count = text.length;
  for (let at = 1; at < text.length; at++) {
    if (isSurrogate(0xdc00, text.charCodeAt(at)) && isSurrogate(0xd800, text.charCodeAt(at - 1))) {
      count--;
    }
  }
  return count;
}

/** Returns the first UTF-16 units of a text; one less where the last is half of a character. */
export function beginning(text: string, units: number): string {
  return text.slice(0, isSurrogate(0xd800, text.charCodeAt(units - 1)) ? units - 1 : units);
}

/** Whether a unit is one of the 1,024 surrogates from `first` on. */
function isSurrogate(first: number, unit: number): boolean {
  return unit >= first && unit < first + 0x400;
}
