import settings from "../../deno.json" with { type: "json" };
import { ensureMigrated } from "./new_database.ts";

/** How a program of this repository is started: clean environment, nothing inherited. */
export interface ProgramOptions {
  /** Added to the clean environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory; the repository by default. */
  readonly cwd?: string;
  readonly args?: readonly string[];
  /** Program, relative to the repository or absolute; `main.ts` by default. */
  readonly script?: string;
  /** An executable in place of a script of the repository. */
  readonly executable?: string;
  /** Not the bundle that the gate has made of the program (`TEST_BUNDLE`). */
  readonly fromSource?: boolean;
  /** What its standard input holds; closed at once by default. */
  readonly input?: string;
  /** For a service until it is alive, for a program until it ends; 60 s by default. */
  readonly timeoutMs?: number;
}

export interface ServiceOptions extends ProgramOptions {
  /** For a service with TLS: a client that trusts its certificate. */
  readonly client?: Deno.HttpClient;
  /**
   * Has the service make and migrate its embedded database itself, as a first start does; so does
   * one started by a script or executable of its own, unless this is false.
   */
  readonly migrates?: boolean;
}

/**
 * Starts the service on a free port with a data directory of its own and resolves when `/livez`
 * answers 200. Rejects with the masked output when it ends or stays silent. A directory given as
 * `env.DATA_DIR` is the caller's, and stays. Use it with `await using`; a process that a test
 * forgets is killed when its test file ends, however that ends.
 */
export async function startService(options: ServiceOptions = {}): Promise<ServiceProcess> {
  const given = options.env?.DATA_DIR;
  const dataDir = given ?? await Deno.makeTempDir({ prefix: "gateway-data-" });
  const env = { PORT: "0", ...options.env, DATA_DIR: dataDir };
  if (startsOnCopy(options)) await ensureMigrated(dataDir);
  const program = new Program({ ...options, env }, async () => {
    if (given === undefined) await Deno.remove(dataDir, { recursive: true });
  });
  try {
    const baseUrl = await untilAlive(program, options);
    return new ServiceProcess(program, baseUrl, dataDir);
  } catch (error) {
    await program.end();
    throw error;
  }
}

/** Whether it may find an embedded database, since nobody wants to see it make one. */
function startsOnCopy({ script, executable, env, migrates }: ServiceOptions): boolean {
  if (migrates ?? (script !== undefined || executable !== undefined)) return false;
  return env?.DATABASE_URL === undefined;
}

/** Runs a program to its end, for starts that must fail and for the operator's commands. */
export async function runProgram(
  options: ProgramOptions = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const program = new Program(options, () => Promise.resolve());
  try {
    const { code } = await program.within(program.status, options.timeoutMs ?? 60_000, "end");
    return { code, stdout: program.stdout, stderr: program.stderr };
  } finally {
    await program.end();
  }
}

/** A service started as people start it: a process of its own. */
export class ServiceProcess implements AsyncDisposable {
  readonly #program: Program;
  constructor(
    program: Program,
    /** Where it listens, without a slash at the end. */
    readonly baseUrl: string,
    readonly dataDir: string,
  ) {
    this.#program = program;
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Settles when the process is gone, however it went, and its output is read to the end. */
  get status(): Promise<Deno.CommandStatus> {
    return this.#program.status;
  }

  /** The key that a first start prints. Throws when none was printed so far. */
  get firstKey(): string {
    const key = keyPattern.exec(this.output())?.[0];
    if (key === undefined) throw new Error("The service has printed no API key.");
    return key;
  }

  /** Standard output and error so far, as they came. It holds the first key: don't print it. */
  output(): string {
    return this.#program.output;
  }

  /** Waits until the output matches. Rejects when the process ends first, or after `timeoutMs`. */
  printed(pattern: RegExp, timeoutMs = 60_000): Promise<RegExpExecArray> {
    return this.#program.printed(pattern, timeoutMs);
  }

  /** Sends the signal and doesn't wait; await `status` for the end. */
  kill(signal: Deno.Signal): void {
    this.#program.kill(signal);
  }

  /** SIGTERM, then the exit code. Rejects, after SIGKILL, when draining takes over 30 s. */
  async stop(): Promise<number> {
    this.#program.kill("SIGTERM");
    try {
      return (await this.#program.within(this.status, 30_000, "end after SIGTERM")).code;
    } finally {
      await this.#program.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program.end();
  }
}

/** A child process whose output is kept. */
class Program {
  readonly pid: number;
  readonly status: Promise<Deno.CommandStatus>;
  output = "";
  stdout = "";
  stderr = "";
  readonly #child: Deno.ChildProcess;
  readonly #ended = Promise.withResolvers<void>();
  readonly #watchers = new Set<() => void>();

  constructor(options: ProgramOptions, cleanUp: () => Promise<void>) {
    const own = options.executable === undefined
      ? commandOf(options, Deno.env.get("TEST_BUNDLE"))
      : { args: [], env: {} };
    this.#child = new Deno.Command(options.executable ?? Deno.execPath(), {
      args: [...own.args, ...(options.args ?? [])],
      cwd: options.cwd ?? root,
      env: { ...machineEnvironment(), ...own.env, ...options.env },
      clearEnv: true,
      stdin: options.input === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    if (options.input !== undefined) {
      // A program that ends without reading it is no failure of the test.
      ReadableStream.from([new TextEncoder().encode(options.input)]).pipeTo(this.#child.stdin)
        .catch(() => {});
    }
    this.pid = this.#child.pid;
    const killOnExit = () => this.kill("SIGKILL");
    globalThis.addEventListener("unload", killOnExit);
    const leaveToItself = guard(this.pid);
    this.status = this.#follow().finally(async () => {
      globalThis.removeEventListener("unload", killOnExit);
      await leaveToItself();
      this.#ended.resolve();
      await cleanUp();
    });
  }

  kill(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch {
      // It is gone already.
    }
  }

  /** Makes sure that the process and what it leaves behind are gone. */
  async end(): Promise<void> {
    this.kill("SIGKILL");
    await this.status;
  }

  async printed(pattern: RegExp, timeoutMs: number): Promise<RegExpExecArray> {
    const found = Promise.withResolvers<RegExpExecArray>();
    const look = () => {
      const match = pattern.exec(this.output);
      if (match !== null) found.resolve(match);
    };
    this.#watchers.add(look);
    look();
    const gone = this.#ended.promise.then(() => {
      throw new Error(`The process ended before it printed ${pattern}.\n${this.masked()}`);
    });
    gone.catch(() => {});
    try {
      return await this.within(Promise.race([found.promise, gone]), timeoutMs, `${pattern}`);
    } finally {
      this.#watchers.delete(look);
    }
  }

  async within<T>(work: Promise<T>, timeoutMs: number, what: string): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error(`No ${what} within ${timeoutMs} ms.\n${this.masked()}`)),
      timeoutMs,
    );
    try {
      return await Promise.race([work, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The output without keys, fit for a failure's message. */
  masked(): string {
    return this.output.replaceAll(new RegExp(keyPattern, "g"), "dmt_****").trimEnd();
  }

  async #follow(): Promise<Deno.CommandStatus> {
    const [status] = await Promise.all([
      this.#child.status,
      this.#read(this.#child.stdout, (text) => this.stdout = latest(this.stdout, text)),
      this.#read(this.#child.stderr, (text) => this.stderr = latest(this.stderr, text)),
    ]);
    return status;
  }

  async #read(stream: ReadableStream<Uint8Array>, keep: (text: string) => void): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      keep(text);
      this.output = latest(this.output, text);
      for (const look of this.#watchers) look();
    }
  }
}

/** Ten minutes of calls log more than a string can hold. */
const mostOutput = 64 * 1024 * 1024;

/** The output with what has come, without its beginning once that is too much. */
function latest(output: string, text: string): string {
  const whole = output + text;
  return whole.length <= mostOutput ? whole : whole.slice(-mostOutput / 2);
}

/**
 * Kills the process when this one ends, also by a signal of which it isn't told: the guard's input
 * ends then. Gives what ends the guard; the process is left alone.
 */
function guard(pid: number): () => Promise<void> {
  const child = new Deno.Command("/bin/sh", {
    // What is meant for the tests' group of processes doesn't end it before them.
    args: ["-c", `trap '' HUP INT TERM; read -r word || kill -9 "$1"`, "guard", String(pid)],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  return async () => {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode("over\n")).catch(() => {});
    await writer.close().catch(() => {});
    await child.status;
  };
}

/**
 * How Deno runs a script. The service's programs are the bundle's where the gate has made one: it is
 * what is shipped, and starts in two thirds of the time. Workers start its launcher, which other
 * tests try.
 */
export function commandOf(
  { script: given = "main.ts", fromSource = false, env = {} }: ProgramOptions,
  bundle: string | undefined,
): { args: string[]; env: Record<string, string> } {
  const word = wordOfScript[given];
  if (bundle !== undefined && word !== undefined && !fromSource && env.WORKERS === undefined) {
    const args = [...flagsOf(given), `--config=${bundle}/deno.json`, `${bundle}/program.js`, word];
    return { args, env: { DEMETER_COMMAND: "deno task" } };
  }
  const script = given.startsWith("/") ? given : `${root}/${given}`;
  return { args: [...flagsOf(given), `--config=${root}/deno.json`, script], env: {} };
}

const wordOfScript: Readonly<Record<string, string>> = {
  "main.ts": "start",
  "demo/main.ts": "demo",
  "admin.ts": "admin",
};

/** The service's programs have no more permissions than the tasks that people start them with. */
function flagsOf(script: string): string[] {
  const command = Object.values(settings.tasks).find((task) => task.endsWith(` ${script}`));
  if (command === undefined) return ["run", "-A"];
  const words = command.split(" ");
  // In front of it stands what the C library is told.
  return words.slice(words.indexOf("deno") + 1, -1);
}

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");
const keyPattern = /dmt_[0-9A-Za-z]{20,}/;
const addressPattern = /https?:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d+/;

/** The address comes from the output, so that the port may be any that was free. */
async function untilAlive(program: Program, options: ServiceOptions): Promise<string> {
  const deadline = performance.now() + (options.timeoutMs ?? 60_000);
  const left = () => Math.max(1, deadline - performance.now());
  await program.printed(addressPattern, left());
  for (;;) {
    // Anything may print an address first (a simulated vendor does), so each is asked.
    const addresses = program.output.match(new RegExp(addressPattern, "g")) ?? [];
    for (const address of new Set(addresses)) {
      if (await isAlive(address, options.client)) return address;
    }
    const pause = new Promise<null>((resolve) => setTimeout(resolve, 25, null));
    const ended = await Promise.race([program.status, pause]);
    if (ended !== null) {
      throw new Error(`The service ended with ${ended.code}.\n${program.masked()}`);
    }
    if (performance.now() > deadline) {
      throw new Error(`The service's /livez did not answer 200 in time.\n${program.masked()}`);
    }
  }
}

async function isAlive(address: string, client: Deno.HttpClient | undefined): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(2000);
    const answer = await fetch(`${address}/livez`, client ? { signal, client } : { signal });
    await answer.body?.cancel();
    return answer.status === 200;
  } catch {
    return false;
  }
}

/** What a program needs of this machine; vendor keys and addresses of a developer stay out. */
function machineEnvironment(): Record<string, string> {
  const env: Record<string, string> = { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
  for (const name of machineVariables) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  return env;
}

const machineVariables = [
  "HOME",
  "PATH",
  "TMPDIR",
  "DENO_DIR",
  "DENO_V8_FLAGS",
  "DENO_CERT",
  "DENO_TLS_CA_STORE",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "NPM_CONFIG_REGISTRY",
];
