/** What the next page says, once. */
export type Notice =
  | { kind: "done"; text: string }
  | { kind: "failed"; text: string }
  /** The value of a key just made: seen once, stored nowhere. */
  | { kind: "key"; id: string; value: string }
  /** The link of an invitation just made. */
  | { kind: "invitation"; email: string; link: string };

/** How long a notice waits for its page. */
export const noticeSeconds = 120;

/** Reads what `JSON.stringify` made of a notice; our own browser cookie, sealed by us. */
export function parseNotice(text: string | undefined): Notice | undefined {
  return text === undefined ? undefined : JSON.parse(text) as Notice;
}
