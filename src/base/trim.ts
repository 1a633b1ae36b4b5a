/** The text without the characters of `these` at its end. By index: a pattern tries each run. */
export function withoutEnd(text: string, these: string): string {
  let end = text.length;
  while (end > 0 && these.includes(text[end - 1]!)) end--;
  return end === text.length ? text : text.slice(0, end);
}
