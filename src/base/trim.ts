/**
 * Strips trailing characters that are in `these`. By index: a regular expression would be
 * quadratic.
 */
export function withoutEnd(text: string, these: string): string {
  let end = text.length;
  while (end > 0 && these.includes(text[end - 1]!)) end--;
  return end === text.length ? text : text.slice(0, end);
}
