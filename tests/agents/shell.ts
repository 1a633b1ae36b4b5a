/** Commands as a user of an agent types them, in an empty home. */

export interface ShellRun {
  /** What is typed. */
  readonly script: string;
  /** The working folder, and the home unless `env` names another. */
  readonly work: string;
  /** Where programs were installed. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ShellEnd {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly isLate: boolean;
}

/** Longer than any agent takes on a machine that does something else. */
export const timeoutMs = Number(Deno.env.get("AGENT_SECONDS") ?? 240) * 1000;

/** Runs the script to its end, and ends what it leaves behind. */
export async function runShell({ script, work, home, env = {} }: ShellRun): Promise<ShellEnd> {
  const mark = crypto.randomUUID();
  const path = [`${home}/node_modules/.bin`, `${home}/python/bin`, "/usr/local/bin:/usr/bin:/bin"];
  const child = new Deno.Command("bash", {
    args: ["-e", "-c", script],
    cwd: work,
    clearEnv: true,
    env: {
      ...{ HOME: work, PATH: path.join(":"), PYTHONPATH: `${home}/python`, TERM: "dumb" },
      ...{ ...env, AGENT_RUN: mark },
    },
    ...{ stdin: "null", stdout: "piped", stderr: "piped" },
  }).spawn();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    // What it started holds its output open.
    endProcessesOf(mark);
  }, timeoutMs);
  const ended = child.status.then(() => endProcessesOf(mark));
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  await ended;
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, out: out!, err: err!, isLate };
}

/** Ends the processes that were started with this `AGENT_RUN`: some agents leave a daemon behind. */
export function endProcessesOf(mark: string, signal: Deno.Signal = "SIGKILL"): void {
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const environ = Deno.readTextFileSync(`/proc/${name}/environ`).split("\0");
      if (environ.includes(`AGENT_RUN=${mark}`)) Deno.kill(Number(name), signal);
    } catch {
      // It is gone, or another user's.
    }
  }
}

/** The text of a block of docs/agents.md: ` ```sh agent=NAME `. */
export function blockOf(page: string, name: string): string {
  const found = new RegExp(`^\`\`\`sh agent=${name}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page);
  if (!found) throw new Error(`docs/agents.md has no block for ${name}`);
  return found[1]!;
}
