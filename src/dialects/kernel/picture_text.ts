import { longStrings } from "../../base/json_strings.ts";
import { splice } from "../../base/json_text.ts";

/** Longer strings of an answer are pictures, which are megabytes that nobody reads here. */
const longestWords = 16 * 1024;

/** An answer's JSON text with its pictures emptied, so that what stands beside them can be read. */
export function withoutPictures(text: string): string {
  const edits = [...longStrings(text, longestWords)]
    .map(({ start, end }) => ({ start, end, text: '""' }));
  return edits.length === 0 ? text : splice(text, edits);
}
