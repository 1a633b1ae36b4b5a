import { cpuSecondsOfEnded } from "./cpu_time.ts";

/** How a child process ended. `output` is standard output and error in the order they arrived. */
export interface Ended {
  readonly ok: boolean;
  readonly code: number;
  readonly timedOut: boolean;
  readonly output: string;
  readonly seconds: number;
  /** Processor time, including processes that it started and waited for. */
  readonly cpuSeconds: number;
}

export interface RunOptions {
  readonly cwd: string;
  /** The whole environment of the child; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** How long the child may print nothing before it counts as hung. */
  readonly silenceMs: number;
}

/** Time for a hung child to say what it waits for; `deno test` lists pending tests on SIGINT. */
const lastWordsMs = 1000;

/**
 * Runs children without standard input, each as the leader of a process group, so that what a hung
 * or crashed test leaves behind (a service, a database, a browser) is ended with the child.
 */
export class Processes {
  readonly #groups = new Set<number>();
  #stopped = false;
  #claimedCpu = cpuSecondsOfEnded();

  /** Runs one child. Never throws if it fails; a program that can't be started has code 127. */
  async run(program: string, args: readonly string[], options: RunOptions): Promise<Ended> {
    const started = performance.now();
    const seconds = () => (performance.now() - started) / 1000;
    const child = this.#stopped ? new Error("the run was stopped") : spawn(program, args, options);
    if (child instanceof Error) {
      const output = `Can't start ${program}: ${child.message}\n`;
      const nothing = { timedOut: false, cpuSeconds: 0 };
      return { ok: false, code: 127, output, seconds: seconds(), ...nothing };
    }
    this.#groups.add(child.pid);
    const chunks: string[] = [];
    const watchdog = new Watchdog(child, options.silenceMs);
    const keep = (text: string) => {
      chunks.push(text);
      watchdog.heard();
    };
    const closing = new AbortController();
    const read = Promise.all(
      [child.stdout, child.stderr].map((stream) => collect(stream, keep, closing.signal)),
    );
    const { code } = await child.status;
    const cpuSeconds = this.#claimCpu();
    watchdog.stop();
    killGroup(child.pid);
    this.#groups.delete(child.pid);
    // A process that left the group (a daemon) may hold the pipes open for ever.
    await atMost(lastWordsMs, read);
    closing.abort();
    await read;
    const timedOut = watchdog.gaveUp;
    if (timedOut) chunks.push(`\nEnded after ${options.silenceMs / 1000} s of silence.\n`);
    const ok = code === 0 && !timedOut;
    return { ok, code, timedOut, output: chunks.join(""), seconds: seconds(), cpuSeconds };
  }

  /**
   * Returns the time that the kernel added since the last child ended: that of the child that ended
   * now, since running children aren't counted.
   */
  #claimCpu(): number {
    const before = this.#claimedCpu;
    this.#claimedCpu = cpuSecondsOfEnded();
    return this.#claimedCpu - before;
  }

  /** Ends all process groups and starts no more children, for when the run itself is stopped. */
  stop(): void {
    this.#stopped = true;
    for (const pid of this.#groups) killGroup(pid);
  }
}

/** Ends a child that prints nothing for too long: first by SIGINT, then by killing its group. */
class Watchdog {
  gaveUp = false;
  #ended = false;
  #timer: ReturnType<typeof setTimeout>;
  readonly #child: Deno.ChildProcess;
  readonly #silenceMs: number;

  constructor(child: Deno.ChildProcess, silenceMs: number) {
    this.#child = child;
    this.#silenceMs = silenceMs;
    this.#timer = setTimeout(() => this.#giveUp(), silenceMs);
  }

  heard(): void {
    if (this.gaveUp || this.#ended) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#giveUp(), this.#silenceMs);
  }

  /** To be called when the child has ended. */
  stop(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #giveUp(): void {
    this.gaveUp = true;
    this.#child.kill("SIGINT");
    this.#timer = setTimeout(() => killGroup(this.#child.pid), lastWordsMs);
  }
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  await Promise.race([work, late.promise]);
  clearTimeout(timer);
}

function spawn(
  program: string,
  args: readonly string[],
  options: RunOptions,
): Deno.ChildProcess | Error {
  try {
    return new Deno.Command(program, {
      args: [...args],
      cwd: options.cwd,
      env: options.env,
      clearEnv: true,
      detached: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function killGroup(pid: number): void {
  try {
    Deno.kill(-pid, "SIGKILL");
  } catch {
    // All processes of the group have ended.
  }
}

async function collect(
  stream: ReadableStream<Uint8Array>,
  keep: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    const texts = stream.pipeThrough(new TextDecoderStream(), { signal });
    for await (const text of texts) keep(text);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
