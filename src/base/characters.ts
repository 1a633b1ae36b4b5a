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

/** Whether a unit is one of the 1,024 surrogates from `first` on. */
function isSurrogate(first: number, unit: number): boolean {
  return unit >= first && unit < first + 0x400;
}
