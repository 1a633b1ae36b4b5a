import { type SetTimer, systemSetTimer, within } from "./deadline.ts";
import { visibleControls } from "./visible_controls.ts";

/** Fields of a log line; undefined and null are left out. Never a prompt, never a key. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The only access to the console: one line per event, `time level message key=value …`. */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/**
 * A log that passes each line to `write`, without a line end; the fields in `common` end every
 * line. `mayWait` is true for info lines, which may be written together with later ones. With
 * `eventOf`, which names the event of a message, each line is a JSON object: time, level, event,
 * message, then the fields.
 */
export function createLog(
  write: (line: string, mayWait: boolean) => void,
  now: () => Date,
  common: LogFields = {},
  eventOf?: (message: string) => string,
): Log {
  const end = formatFields(common);
  const lineOf = eventOf
    ? (level: string, message: string, fields: LogFields) =>
      jsonLine({ time: now().toISOString(), level, event: eventOf(message), message }, {
        ...fields,
        ...common,
      })
    : (level: string, message: string, fields: LogFields) =>
      `${now().toISOString()} ${level} ${message}${formatFields(fields)}${end}`;
  const at = (level: string) => (message: string, fields: LogFields = {}) =>
    write(lineOf(level, message, fields), level === "info");
  return { info: at("info"), warn: at("warn"), error: at("error") };
}

/** A field never replaces a member that every line has; it gets the prefix `field_`. */
function jsonLine(head: Readonly<Record<string, string>>, fields: LogFields): string {
  const line: Record<string, unknown> = { ...head };
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    line[name in head ? `field_${name}` : name] = typeof value === "string" ? cut(value) : value;
  }
  return visibleControls(JSON.stringify(line));
}

/** The output of log lines. */
export interface LogLines {
  /** `mayWait`: the line may wait for a moment, to be written together with others. */
  write(line: string, mayWait?: boolean): void;
  /** Resolves when all lines are written, or nobody has read them for a while. */
  flush(): void | Promise<void>;
  /** Number of lines that were dropped because the output was not read or couldn't be written. */
  readonly dropped?: number;
  /** `report` is called with the number of dropped lines once the output is read again. */
  onDropped?(report: (lines: number) => void): void;
}

export interface OutputOptions {
  /** Writes some of the bytes and returns how many. Default: standard output. */
  write?: (bytes: Uint8Array) => Promise<number>;
  /** Max characters that wait to be written. */
  maxWaiting?: number;
  /** Max characters of one write, unless a single line has more. */
  batchUnits?: number;
  /** How long `flush` waits for a reader. */
  flushMs?: number;
  /** How long a line with `mayWait` waits; default 0. Each write wakes two threads. */
  lingerMs?: number;
  setTimer?: SetTimer;
}

/**
 * Writes to standard output, several lines at a time, and never blocks: while nobody reads, lines
 * beyond the bound are dropped and counted. All output must go through it: the runtime rejects
 * concurrent writes, such as `console.log`.
 */
export function stdoutLines(options: OutputOptions = {}): OutputLines {
  return new OutputLines(options);
}

const defaultBatchUnits = 64 * 1024;

/**
 * Max characters of one write to an output that several processes share. The system writes up to
 * 4,096 bytes to a pipe in one piece, so no line is cut by another process's output.
 */
export const sharedBatchUnits = Math.floor(4096 / 3);

export class OutputLines implements LogLines {
  readonly #encoder = new TextEncoder();
  readonly #put: (bytes: Uint8Array) => Promise<number>;
  readonly #maxWaiting: number;
  readonly #batchUnits: number;
  readonly #flushMs: number;
  readonly #lingerMs: number;
  readonly #setTimer: SetTimer;
  #cancelLinger: (() => void) | undefined;
  #waiting: string[] = [];
  #units = 0;
  #writing: Promise<void> | undefined;
  #dropped = 0;
  #unreported = 0;
  /** Whether the output ends within a line, of which a full disk took only the beginning. */
  #isCut = false;
  #onDropped: (lines: number) => void = () => {};

  constructor(options: OutputOptions) {
    this.#put = options.write ?? ((bytes) => Deno.stdout.write(bytes));
    this.#maxWaiting = options.maxWaiting ?? 256 * 1024;
    this.#batchUnits = options.batchUnits ?? defaultBatchUnits;
    this.#flushMs = options.flushMs ?? 1_000;
    this.#lingerMs = options.lingerMs ?? 0;
    this.#setTimer = options.setTimer ?? systemSetTimer;
  }

  get dropped(): number {
    return this.#dropped;
  }

  onDropped(report: (lines: number) => void): void {
    this.#onDropped = report;
  }

  write(line: string, mayWait = false): void {
    if (this.#units + line.length < this.#maxWaiting) {
      this.#add(line);
      return mayWait && this.#lingerMs > 0 ? this.#writeSoon() : this.#writeNow();
    }
    this.#drop(1);
  }

  /** Writes a line that is never dropped, such as a key that is shown only once. */
  print(line: string): void {
    this.#add(line);
    this.#writeNow();
  }

  #add(line: string): void {
    this.#waiting.push(line + "\n");
    this.#units += line.length + 1;
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#unreported += lines;
  }

  #writeNow(): void {
    this.#cancelLinger?.();
    this.#cancelLinger = undefined;
    // In a microtask, so that the lines of one turn of the event loop are written together.
    this.#writing ??= Promise.resolve().then(() => this.#write());
  }

  #writeSoon(): void {
    if (this.#writing !== undefined) return;
    this.#cancelLinger ??= this.#setTimer(this.#lingerMs, () => this.#writeNow());
  }

  async flush(): Promise<void> {
    if (this.#waiting.length > 0) this.#writeNow();
    if (this.#writing) await within(this.#flushMs, this.#writing, undefined, this.#setTimer);
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#next();
      if (await this.#putAll(lines.join(""))) this.#report();
      else this.#drop(lines.length);
    }
    this.#writing = undefined;
  }

  /** Reports dropped lines once there is room for the report itself. */
  #report(): void {
    if (this.#unreported === 0 || this.#units > this.#maxWaiting / 2) return;
    const lines = this.#unreported;
    this.#unreported = 0;
    this.#onDropped(lines);
  }

  #next(): string[] {
    let units = 0;
    let lines = 0;
    while (lines < this.#waiting.length) {
      const more = this.#waiting[lines]!.length;
      if (lines > 0 && units + more > this.#batchUnits) break;
      units += more;
      lines++;
    }
    this.#units -= units;
    return this.#waiting.splice(0, lines);
  }

  /** Returns false if the output is closed or its disk is full; that fails no call. */
  async #putAll(text: string): Promise<boolean> {
    const bytes = this.#encoder.encode(this.#isCut ? `\n${text}` : text);
    let at = 0;
    try {
      while (at < bytes.length) at += await this.#put(bytes.subarray(at));
      return true;
    } catch {
      return false;
    } finally {
      if (at > 0) this.#isCut = bytes[at - 1] !== newline;
    }
  }
}

function formatFields(fields: LogFields): string {
  let text = "";
  // `Object.entries` would allocate an array for each of a line's twenty fields.
  for (const key in fields) {
    const value = fields[key];
    if (value === undefined || value === null) continue;
    text += ` ${key}=${typeof value === "string" ? quote(value) : value}`;
  }
  return text;
}

const newline = 10;

/** Quotes values with spaces, quotes or control characters, so that an event stays one line. */
function quote(value: string): string {
  const short = cut(value);
  // JSON leaves DEL and the C1 controls (U+007F to U+009F) as they are.
  return /^[\w./:@+\-…]+$/.test(short) ? short : visibleControls(JSON.stringify(short));
}

function cut(value: string): string {
  return value.length > 500 ? value.slice(0, 500) + "…" : value;
}
