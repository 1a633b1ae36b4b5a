import { longStrings } from "../../base/json_strings.ts";
import { splice } from "../../base/json_text.ts";

/** Longer strings in an answer are images: megabytes that needn't be parsed. */
const longestWords = 16 * 1024;

/** An answer's JSON text with its images emptied, so that the rest can be parsed cheaply. */
export function withoutPictures(text: string): string {
  const edits = [...longStrings(text, longestWords)]
    .map(({ start, end }) => ({ start, end, text: '""' }));
  return edits.length === 0 ? text : splice(text, edits);
}
