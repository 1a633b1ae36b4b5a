/** Fields of a log line; absent ones are left out. Never a prompt, never a key. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The one door to the console: one line per event, `time level message key=value …`. */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** A log that hands each line to `write`, without the line's end. */
export function createLog(write: (line: string) => void, now: () => Date): Log {
  const at = (level: string) => (message: string, fields: LogFields = {}) =>
    write(`${now().toISOString()} ${level} ${message}${formatFields(fields)}`);
  return { info: at("info"), warn: at("warn"), error: at("error") };
}

/** Where the lines go. */
export interface LogLines {
  write(line: string): void;
  /** Writes what waits. */
  flush(): void;
}

/** Writes to standard output, several lines at a time: a busy service must not wait for a pipe. */
export function stdoutLines(): LogLines {
  const encoder = new TextEncoder();
  let pending: string[] = [];
  const flush = () => {
    if (pending.length === 0) return;
    const bytes = encoder.encode(pending.join(""));
    pending = [];
    try {
      let written = 0;
      while (written < bytes.length) written += Deno.stdout.writeSync(bytes.subarray(written));
    } catch {
      // Nobody reads our output any more; the calls go on.
    }
  };
  return {
    write(line) {
      pending.push(line + "\n");
      if (pending.length === 1) queueMicrotask(flush);
    },
    flush,
  };
}

function formatFields(fields: LogFields): string {
  let text = "";
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    text += ` ${key}=${typeof value === "string" ? quote(value) : value}`;
  }
  return text;
}

/** A value with spaces, quotes or control characters is quoted, so that a line stays a line. */
function quote(value: string): string {
  const short = value.length > 500 ? value.slice(0, 500) + "…" : value;
  return /^[\w./:@+\-…]+$/.test(short) ? short : JSON.stringify(short);
}
