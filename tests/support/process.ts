import settings from "../../deno.json" with { type: "json" };
import { ensureMigrated } from "./new_database.ts";

/** A start from source takes a minute on a busy machine; what never comes fails all the same. */
const patienceMs = 180_000;

/** How to start a program of this repository; its environment is clean, with nothing inherited. */
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
  /** Whether to ignore the bundle that the gate made of the program (`TEST_BUNDLE`). */
  readonly fromSource?: boolean;
  /** Text for its standard input, which is empty by default. */
  readonly input?: string;
  /** Time until a service must be alive, or a program must have ended; three minutes by default. */
  readonly timeoutMs?: number;
}

export interface ServiceOptions extends ProgramOptions {
  /** For a service with TLS: a client that trusts its certificate. */
  readonly client?: Deno.HttpClient;
  /**
   * Whether the service creates and migrates its embedded database itself, as a first start does.
   * By default only if another script or an executable is started.
   */
  readonly migrates?: boolean;
}

/**
 * Starts the service on a free port with its own data directory, and resolves when `/livez` answers
 * 200. Rejects with the masked output if it ends or isn't alive in time. A directory in
 * `env.DATA_DIR` is the caller's and isn't removed. Use it with `await using`; a process that a
 * test leaves running is killed when its test file ends, however that ends.
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

/** Whether the service may begin with a copied embedded database instead of creating one. */
function startsOnCopy({ script, executable, env, migrates }: ServiceOptions): boolean {
  if (migrates ?? (script !== undefined || executable !== undefined)) return false;
  return env?.DATABASE_URL === undefined;
}

/** Runs a program to its end, such as a start that must fail or one of the operator's commands. */
export async function runProgram(
  options: ProgramOptions = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const program = new Program(options, () => Promise.resolve());
  try {
    const { code } = await program.within(program.status, options.timeoutMs ?? patienceMs, "end");
    return { code, stdout: program.stdout, stderr: program.stderr };
  } finally {
    await program.end();
  }
}

/** A service in its own process, as people start it. */
export class ServiceProcess implements AsyncDisposable {
  readonly #program: Program;
  constructor(
    program: Program,
    /** The address that it listens on, without a slash at the end. */
    readonly baseUrl: string,
    readonly dataDir: string,
  ) {
    this.#program = program;
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Settles when the process has ended, in whatever way, and all its output is read. */
  get status(): Promise<Deno.CommandStatus> {
    return this.#program.status;
  }

  /** The key that a first start prints. Throws if none was printed so far. */
  get firstKey(): string {
    const key = keyPattern.exec(this.output())?.[0];
    if (key === undefined) throw new Error("The service has printed no API key.");
    return key;
  }

  /** Returns standard output and error so far. They contain the first key: don't print them. */
  output(): string {
    return this.#program.output;
  }

  /** Waits until the output matches. Rejects when the process ends first, or after `timeoutMs`. */
  printed(pattern: RegExp, timeoutMs = patienceMs): Promise<RegExpExecArray> {
    return this.#program.printed(pattern, timeoutMs);
  }

  /** Sends the signal and doesn't wait; await `status` for the end. */
  kill(signal: Deno.Signal): void {
    this.#program.kill(signal);
  }

  /**
   * Sends SIGTERM and returns the exit code. After 60 s kills it and rejects: calls under way have
   * 30 s to end, then the queued records are written.
   */
  async stop(): Promise<number> {
    this.#program.kill("SIGTERM");
    try {
      return (await this.#program.within(this.status, 60_000, "end after SIGTERM")).code;
    } finally {
      await this.#program.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program.end();
  }
}

/** A child process with its output so far. */
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
      // A program may end without reading it: that isn't a failure of the test.
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
      // It has ended already.
    }
  }

  /** Kills the process, and waits until it has ended and its files are removed. */
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

  /** Returns the output with keys masked, for error messages. */
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

/** Limits the kept output: ten minutes of calls log more than a string can hold. */
const maxOutput = 64 * 1024 * 1024;

/** Appends to the output, and cuts its beginning off once it is too long. */
function latest(output: string, text: string): string {
  const whole = output + text;
  return whole.length <= maxOutput ? whole : whole.slice(-maxOutput / 2);
}

/**
 * Starts a guard that kills the process when this one ends, even by SIGKILL: the guard's standard
 * input ends then. Returns a function that ends the guard and leaves the process alone.
 */
function guard(pid: number): () => Promise<void> {
  const child = new Deno.Command("/bin/sh", {
    // Signals to the tests' process group must not end the guard before the tests.
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
 * Returns the command that runs a script with Deno. If the gate has made a bundle, it is used for
 * the service's programs: it is what is shipped, and starts in two thirds of the time.
 */
export function commandOf(
  { script: given = "main.ts", fromSource = false }: ProgramOptions,
  bundle: string | undefined,
): { args: string[]; env: Record<string, string> } {
  const word = wordOfScript[given];
  if (bundle !== undefined && word !== undefined && !fromSource) {
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

/** Returns Deno's flags: the service's programs get the permissions of the tasks for them. */
function flagsOf(script: string): string[] {
  const command = Object.values(settings.tasks).find((task) => task.endsWith(` ${script}`));
  if (command === undefined) return ["run", "-A"];
  const words = command.split(" ");
  // Before `deno` are variables for the C library.
  return words.slice(words.indexOf("deno") + 1, -1);
}

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");
const keyPattern = /dmt_[0-9A-Za-z]{20,}/;
const addressPattern = /https?:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d+/;

/** Waits until the service is alive; reads its address from the output, as its port may be any. */
async function untilAlive(program: Program, options: ServiceOptions): Promise<string> {
  const deadline = performance.now() + (options.timeoutMs ?? patienceMs);
  const left = () => Math.max(1, deadline - performance.now());
  await program.printed(addressPattern, left());
  for (;;) {
    // Other parts may print an address first (a simulated vendor does), so each is tried.
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

/** Returns the variables that a program needs, without a developer's vendor keys and addresses. */
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
