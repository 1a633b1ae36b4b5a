import { type SetTimer, systemSetTimer } from "./deadline.ts";

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
  /** Writes what waits; resolves when it is out, or when nobody has read it for a while. */
  flush(): void | Promise<void>;
  /** Lines that were not written because nobody read the output. */
  readonly dropped?: number;
  /** `told` hears how many lines were dropped, once the output takes lines again. */
  onDropped?(report: (lines: number) => void): void;
}

export interface OutputOptions {
  /** Writes some of the bytes and says how many; standard output when absent. */
  write?: (bytes: Uint8Array) => Promise<number>;
  /** What waits to be written at most, in characters. */
  maxWaiting?: number;
  /** How long `flush` waits for a reader. */
  flushMs?: number;
  setTimer?: SetTimer;
}

/**
 * Writes to standard output, several lines at a time, and never waits for it: what is beyond the
 * bound while nobody reads is dropped and counted. Whoever else writes to standard output
 * meanwhile (`console.log`) is refused by the runtime, so all lines take this way.
 */
export function stdoutLines(options: OutputOptions = {}): OutputLines {
  return new OutputLines(options);
}

/** As much as is handed to the system at once. */
const batchUnits = 64 * 1024;

export class OutputLines implements LogLines {
  readonly #encoder = new TextEncoder();
  readonly #put: (bytes: Uint8Array) => Promise<number>;
  readonly #maxWaiting: number;
  readonly #flushMs: number;
  readonly #setTimer: SetTimer;
  #waiting: string[] = [];
  #units = 0;
  #writing: Promise<void> | undefined;
  #dropped = 0;
  #unreported = 0;
  #onDropped: (lines: number) => void = () => {};

  constructor(options: OutputOptions) {
    this.#put = options.write ?? ((bytes) => Deno.stdout.write(bytes));
    this.#maxWaiting = options.maxWaiting ?? 256 * 1024;
    this.#flushMs = options.flushMs ?? 1_000;
    this.#setTimer = options.setTimer ?? systemSetTimer;
  }

  get dropped(): number {
    return this.#dropped;
  }

  onDropped(report: (lines: number) => void): void {
    this.#onDropped = report;
  }

  write(line: string): void {
    if (this.#units + line.length < this.#maxWaiting) return this.print(line);
    this.#dropped++;
    this.#unreported++;
  }

  /** A line that is never dropped, such as a key that is shown only once. */
  print(line: string): void {
    this.#waiting.push(line + "\n");
    this.#units += line.length + 1;
    // A microtask later, so that the lines of one turn go out together.
    this.#writing ??= Promise.resolve().then(() => this.#write());
  }

  async flush(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = this.#setTimer(this.#flushMs, late.resolve);
    await Promise.race([this.#writing, late.promise]);
    cancel();
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const isOut = await this.#putAll(this.#encoder.encode(this.#next()));
      if (isOut) this.#report();
    }
    this.#writing = undefined;
  }

  /** Once there is room for the line that says it. */
  #report(): void {
    if (this.#unreported === 0 || this.#units > this.#maxWaiting / 2) return;
    const lines = this.#unreported;
    this.#unreported = 0;
    this.#onDropped(lines);
  }

  #next(): string {
    let units = 0;
    let lines = 0;
    while (lines < this.#waiting.length && units < batchUnits) {
      units += this.#waiting[lines++]!.length;
    }
    this.#units -= units;
    return this.#waiting.splice(0, lines).join("");
  }

  /** False where nobody can read any more; the calls go on. */
  async #putAll(bytes: Uint8Array): Promise<boolean> {
    try {
      for (let at = 0; at < bytes.length;) at += await this.#put(bytes.subarray(at));
      return true;
    } catch {
      return false;
    }
  }
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
