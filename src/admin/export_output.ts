import { commandFailure, type CommandResult, done, optional, UsageError } from "./command.ts";
import { messageOf } from "../shared/fault.ts";
import { type ExportEvent, readExportOptions } from "./export_command.ts";

/** Where an export without `--out` is written, and whether to show its progress. */
export interface ExportTerminal {
  write(bytes: Uint8Array): Promise<void>;
  /** Whether standard error is a terminal that shows the progress bar. */
  isWatched: boolean;
}

/**
 * Writes an export to the file that `--out` names, or to standard output, with a progress bar if
 * the terminal is watched. With `--json` standard output holds one JSON value: the export itself,
 * or with `--out` a summary of what was written. If the result's `json` is undefined, nothing more
 * may be written to standard output. Never throws: failures are results.
 */
export async function runExportCommand(
  argv: readonly string[],
  asJson: boolean,
  terminal: ExportTerminal,
  events: (withTotal: boolean) => AsyncIterable<ExportEvent>,
): Promise<CommandResult> {
  const written = { bytes: 0, rows: 0 };
  let out: string | undefined;
  try {
    const values = readExportOptions(argv);
    out = optional(values, "out");
    const format = optional(values, "format");
    if (asJson && out === undefined && (format === "csv" || format === "jsonl")) {
      throw new UsageError(`--json: ${format} is not a single JSON value; use --out FILE`);
    }
    await write(events(terminal.isWatched), out, terminal, written);
  } catch (thrown) {
    // The output's reader, such as `head`, has read enough. The export is still incomplete.
    if (out === undefined && thrown instanceof Deno.errors.BrokenPipe) {
      return { exitCode: 1, json: undefined, lines: [] };
    }
    const message = commandFailure(thrown);
    const exitCode = thrown instanceof UsageError ? 2 : 1;
    const isBegun = out === undefined && written.bytes > 0;
    if (isBegun) console.error(`error: ${message}`);
    return { exitCode, json: isBegun ? undefined : { error: message }, lines: [message] };
  }
  const { rows, bytes } = written;
  if (out === undefined) return { exitCode: 0, json: undefined, lines: [] };
  return done({ file: out, rows, bytes_size: bytes }, [`${out}: ${rows} rows, ${bytes} bytes.`]);
}

async function write(
  events: AsyncIterable<ExportEvent>,
  out: string | undefined,
  terminal: ExportTerminal,
  written: { bytes: number; rows: number },
): Promise<void> {
  let file: Awaited<ReturnType<typeof openPart>> | undefined;
  let bar: ProgressBar | undefined;
  try {
    for await (const event of events) {
      written.rows = event.rows;
      if (event.kind === "total") {
        bar = await openProgressBar();
        bar.start(event.rows, 0, { bytes: mebibytes(0) });
      }
      if (event.kind === "data") {
        // Opened only now, so that a refused request leaves no file behind.
        if (out !== undefined) file ??= await openPart(out);
        await (file ?? terminal).write(event.bytes);
        written.bytes += event.bytes.length;
      }
      if (event.kind !== "total") bar?.update(event.rows, { bytes: mebibytes(written.bytes) });
    }
    await file?.done();
  } catch (thrown) {
    await file?.drop();
    throw thrown;
  } finally {
    bar?.stop();
  }
}

/** Opens `PATH.part` for writing, and renames it to `PATH` when all is written. */
async function openPart(path: string) {
  const part = `${path}.part`;
  const how = { write: true, create: true, truncate: true, mode: 0o600 };
  const file = await Deno.open(part, how).catch((cause) => {
    throw new Error(`--out ${path} can't be written: ${messageOf(cause)}`);
  });
  return {
    async write(bytes: Uint8Array) {
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
    },
    async done() {
      await file.sync();
      file.close();
      await Deno.rename(part, path);
    },
    async drop() {
      try {
        file.close();
      } catch {
        // It was closed already: only the renaming failed.
      }
      await Deno.remove(part).catch(() => {});
    },
  };
}

export interface ProgressBar {
  start(total: number, done: number, shown: { bytes: string }): void;
  update(done: number, shown: { bytes: string }): void;
  stop(): void;
}

/** Opens a progress bar of rows and bytes on standard error. */
export async function openProgressBar(): Promise<ProgressBar> {
  const { default: progress } = await import("cli-progress");
  return new progress.SingleBar({
    format: "{bar} {percentage}% | {value}/{total} rows | {bytes} | {eta_formatted} left",
    hideCursor: true,
    clearOnComplete: false,
  }, progress.Presets.shades_classic);
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
