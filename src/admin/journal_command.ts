import type { Clock } from "../base/clock.ts";
import type { JournalStatus } from "../records/journal/status.ts";
import { type Command, type CommandResult, done } from "./command.ts";

export interface JournalDeps {
  clock: Clock;
  journalStatus: () => Promise<JournalStatus>;
}

/** `journal status`: whether the store keeps up, and what waits on the disk until it does. */
export const journalCommands: Readonly<Record<string, Command<JournalDeps>>> = {
  "journal status": {
    summary: "Shows the journal: records on disk that are waiting for the database.",
    example: "journal status",
    usage: "journal status",
    run: showStatus,
  },
};

async function showStatus({ clock, journalStatus }: JournalDeps): Promise<CommandResult> {
  const status = await journalStatus();
  const lagMs = status.oldest ? clock.now().getTime() - status.oldest.getTime() : 0;
  const lagSeconds = Math.max(0, Math.round(lagMs)) / 1000;
  return done({
    running: status.running,
    bytes: status.bytes,
    segments: status.segments,
    waiting: status.waiting,
    oldest: status.oldest?.toISOString() ?? null,
    lag_seconds: lagSeconds,
    sync: status.sync,
    max_bytes: status.maxBytes,
    rejected: status.rejected,
    damaged_bytes: status.damagedBytes,
  }, [
    status.running
      ? "A server runs on this data directory."
      : "No server answers: these figures are from its files, which don't say what is stored already. The next start stores the rest.",
    `Journal: ${status.bytes} of at most ${status.maxBytes} bytes in ${status.segments} files, sync ${status.sync}.`,
    `Waiting for the database: ${status.running ? "" : "at most "}${status.waiting} records${
      status.oldest ? `, the oldest since ${status.oldest.toISOString()} (${lagSeconds} s)` : ""
    }.`,
    ...(status.rejected > 0
      ? [`Rejected by the database: ${status.rejected} records, in journal/rejected.jsonl.`]
      : []),
    ...(status.damagedBytes > 0
      ? [`Unreadable: ${status.damagedBytes} bytes, in journal/*.damaged.`]
      : []),
  ]);
}
