/** A program of `tests/store/programs/` that a test kills when it likes. */
export class Child implements AsyncDisposable {
  readonly pid: number;
  readonly #child: Deno.ChildProcess;
  readonly #lines: string[] = [];
  readonly #reading: Promise<void>;
  #heard = Promise.withResolvers<void>();

  constructor(program: string, ...args: readonly string[]) {
    const path = decodeURIComponent(new URL(`programs/${program}`, import.meta.url).pathname);
    const config = decodeURIComponent(new URL("../../deno.json", import.meta.url).pathname);
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", `--config=${config}`, path, ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.pid = this.#child.pid;
    this.#reading = this.#read();
  }

  /** What it has printed so far. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Waits for a line. Rejects when the program ends without it. */
  async printed(line: string): Promise<void> {
    while (!this.#lines.includes(line)) await this.#heard.promise;
  }

  /** Ends it as a crash does, and waits until it is gone. */
  async kill(): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It is gone already.
    }
    await Promise.all([this.#child.status, this.#reading]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      this.#lines.push(...lines);
      this.#heard.resolve();
      this.#heard = Promise.withResolvers();
    }
    this.#heard.promise.catch(() => {});
    this.#heard.reject(new Error(`The program ended after: ${this.#lines.join(", ")}`));
  }
}

/** A folder that is gone after the test. */
export async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "store-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
