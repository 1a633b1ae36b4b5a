import { membersAt } from "../base/json_text.ts";
import { mendJson } from "../base/mend_json.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import type { Dialect, DialectQuirks } from "../dialects/kernel/dialect.ts";
import { isRecord } from "../dialects/kernel/json.ts";
import type { Usage } from "../shared/usage.ts";
import type { Meter } from "./meter.ts";
import { readRawUsage } from "../repricing/stored_usage.ts";

/** Texts of more units are not parsed again: their usage is looked for, and the rest is counted. */
const mostRead = 1024 * 1024;

/**
 * Meters a whole answer that can't be given to the caller: cut, malformed or too large. The vendor's
 * usage counts where it is reported, else what can be read of the words; a text that is no answer
 * costs nothing. Never throws.
 */
export function meterUnread(
  meter: Meter,
  text: string,
  { dialect, quirks }: { dialect: Dialect; quirks: DialectQuirks },
): void {
  // An error page of a proxy costs nothing.
  if (!/^\s{0,64}[{[]/.test(text)) return;
  const read = (raw: unknown) => attempt(() => readRawUsage(dialect.name, raw, quirks));
  const field = dialect.usageMember;
  if (text.length > mostRead) return meter.unread(read(lastObject(text, field)), text.length);
  let reported: Usage | undefined;
  let words: CanonicalEvent[] = [];
  attempt(() => {
    for (const value of mendJson(text)) {
      reported ??= isRecord(value) ? read(value[field]) : undefined;
      const events = attempt(() => dialect.decodeAnswer(value, quirks)) ?? [];
      words = events.filter(({ type }) => type !== "error" && type !== "finish");
      if (words.some(({ type }) => type === "block-start")) break;
    }
  });
  meter.listen(words);
  meter.unread(reported, 0);
}

/** The last object that stands behind this name, which is no text in a string: that is escaped. */
function lastObject(text: string, name: string): unknown {
  const token = `"${name}"`;
  const at = text.lastIndexOf(token);
  const start = at < 0 ? -1 : text.indexOf("{", at + token.length);
  if (start < 0 || !/^\s*:\s*$/.test(text.slice(at + token.length, start).slice(0, 64))) return;
  return attempt(() => {
    const { range } = membersAt(text, start)!;
    return JSON.parse(text.slice(range.start, range.end)) as unknown;
  });
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
