import type { VacuumReport } from "../erasure/vacuum.ts";
import { type Command, type CommandResult, done } from "./command.ts";

/** What the command works on. */
export interface ScrubDeps {
  /** Rewrites every file that may hold erased text. */
  scrub: () => Promise<VacuumReport>;
}

/** `scrub`: rewrites tables and write-ahead log, so that erased text is in no file. */
export const scrubCommands: Readonly<Record<string, Command<ScrubDeps>>> = {
  scrub: { usage: "scrub", options: {}, positionals: [], run: scrub },
};

async function scrub(deps: ScrubDeps): Promise<CommandResult> {
  const { rewritten, notRewritten } = await deps.scrub();
  return done({ rewritten, not_rewritten: notRewritten }, [
    `Rewritten: ${rewritten.join(", ")}.`,
    notRewritten.length === 0
      ? "Erased text is in no file of this installation."
      : `Not rewritten, erased text may be there: ${notRewritten.join("; ")}.`,
  ]);
}
