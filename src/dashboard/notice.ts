import { parseExactly } from "../base/exact_json.ts";
/** A message for the next page, shown once. */
export type Notice =
  | { kind: "done"; text: string }
  | { kind: "failed"; text: string }
  /** The value of a new key, which is shown once and not stored. */
  | { kind: "key"; id: string; value: string }
  /** The secret of a new webhook, which is shown once. */
  | { kind: "webhook"; id: string; secret: string }
  /** The link of a new invitation. */
  | { kind: "invitation"; email: string; link: string };

/** How long a notice waits for its page. */
export const noticeSeconds = 120;

/** Parses a notice's JSON. It needs no validation: it comes from a cookie that we sealed. */
export function parseNotice(text: string | undefined): Notice | undefined {
  return text === undefined ? undefined : parseExactly(text) as Notice;
}
