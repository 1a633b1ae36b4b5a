/**
 * A new user's way from an empty machine to a recorded session: a clone of this tree, an empty home,
 * Node.js and nothing else, and the blocks of docs/agents.md with the lines that they print.
 */
import { hiddenFields } from "../dashboard/world.ts";
import { BrowserClient } from "../support/browser_client.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { doneText } from "./scripted_vendor.ts";
import { blockOf, endProcessesOf, runShell, type ShellEnd } from "./shell.ts";
import { startAgentVendors } from "./world.ts";
import { isThere } from "../support/is_there.ts";

/** Agents with whom docs/agents.md makes a first session. */
const firstAgents = ["claude-code", "codex"] as const;
type FirstAgent = typeof firstAgents[number];

const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
const startMark = "first-session";

/** The result of a session: its errors, the number of calls, and the seconds of each step. */
export interface FirstSession {
  readonly agent: FirstAgent;
  readonly problems: readonly string[];
  readonly calls: number;
  readonly seconds: string;
}

/** Both sessions on one machine, as the page has them one after the other. */
export async function runFirstSessions(page: string): Promise<FirstSession[]> {
  // Codex warns of a home below /tmp.
  const folder = await Deno.makeTempDir({ dir: "/var/tmp", prefix: "first-" });
  const clone = `${folder}/demeter`;
  const { vendors, env, stop } = await startAgentVendors(() => `${clone}/note.txt`);
  const times = new Times();
  try {
    await cloneTree(folder, clone);
    const machine = await machineAt(folder);
    const addresses = Object.entries(env).filter(([name]) => name.endsWith("_BASE_URL"));
    const service = await startService({
      executable: "/bin/bash",
      args: ["-e", "-c", blockOf(page, "serve")],
      cwd: clone,
      env: {
        ...Object.fromEntries(addresses),
        ...{ OPENAI_API_KEY: env.VENDOR_B_API_KEY!, ANTHROPIC_API_KEY: env.VENDOR_C_API_KEY! },
        // The page sets none: the data is in the clone.
        ...{ ...machine, DATA_DIR: "", AGENT_RUN: startMark },
      },
      timeoutMs: 300_000,
    });
    times.note("started");
    try {
      const terminal = new Terminal(clone, machine);
      const sessions: FirstSession[] = [];
      for (const agent of firstAgents) {
        for (const vendor of vendors) vendor.refusals.length = 0;
        const { problems, calls } = await firstSession(agent, { page, terminal, service, times });
        const refused = vendors.flatMap(({ refusals }) => refusals).slice(0, 1);
        sessions.push({ agent, problems: [...refused, ...problems], calls, seconds: times.take() });
      }
      return sessions;
    } finally {
      // As Ctrl-C does: it reaches all that the terminal's command has started.
      endProcessesOf(startMark, "SIGINT");
      const timer = setTimeout(() => endProcessesOf(startMark), 30_000);
      await service.status;
      clearTimeout(timer);
    }
  } finally {
    await stop();
    await Deno.remove(folder, { recursive: true });
  }
}

interface At {
  page: string;
  terminal: Terminal;
  service: ServiceProcess;
  times: Times;
}

/** Types the agent's blocks and the lines that the first one prints, then looks for the session. */
async function firstSession(
  agent: FirstAgent,
  { page, terminal, service, times }: At,
): Promise<{ problems: string[]; calls: number }> {
  const failed = (what: string, end: ShellEnd) => {
    const output = (end.out + end.err).replaceAll(/dmt_\w+/g, "dmt_****").trim();
    return { problems: [`${what} (code ${end.code}): ${output.slice(-300)}`], calls: 0 };
  };
  const made = await terminal.type(blockOf(page, `first-${agent}`));
  // The last line starts the program with its screen.
  const pasted = /^For .*:\n([\s\S]*)\n.+\n$/m.exec(made.out)?.[1];
  if (made.code !== 0 || pasted === undefined) return failed("no lines to paste", made);
  times.note("program and key");
  const asked = await terminal.type(`${pasted}\n${blockOf(page, `ask-${agent}`)}`);
  if (!asked.out.includes(doneText)) return failed("no answer", asked);
  times.note("asked");
  const recorded = await terminal.type(blockOf(page, "recorded"));
  if (recorded.code !== 0) return failed("not exported", recorded);
  const rows = rowsIn(recorded.out).filter(({ app }) => app === agent);
  const problem = problemIn(agent, rows) ?? await missingOnDashboard(service, recorded.out, rows);
  times.note("found");
  return { problems: problem === undefined ? [] : [problem], calls: rows.length };
}

type Row = Record<string, unknown>;

function rowsIn(text: string): Row[] {
  return text.split("\n").filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Row);
}

/** What its program calls itself. */
const clients: Readonly<Record<FirstAgent, RegExp>> = {
  "claude-code": /^claude-cli\//,
  codex: /^codex/,
};

/** What is wrong with the rows of one session. */
function problemIn(agent: FirstAgent, rows: readonly Row[]): string | undefined {
  const sessions = new Set(rows.map(({ session_id }) => session_id));
  const isWhole = rows.every(({ status, charged_usd, client }) =>
    status === "completed" && /[1-9]/.test(String(charged_usd)) &&
    clients[agent].test(String(client))
  );
  const isOne = sessions.size === 1 && /\S/.test(String([...sessions][0] ?? ""));
  // A call of the tool, and the answer.
  if (rows.length >= 2 && isOne && isWhole) return undefined;
  return `recorded: ${JSON.stringify(rows).slice(0, 500)}`;
}

/** Opens the link that the block printed, and reads the session's run. */
async function missingOnDashboard(
  { baseUrl }: ServiceProcess,
  printed: string,
  rows: readonly Row[],
): Promise<string | undefined> {
  const link = /https?:\S+[?&]token=\S+/.exec(printed)?.[0];
  if (link === undefined) return "no link to the dashboard";
  const browser = new BrowserClient(baseUrl);
  const { text } = await browser.get(link);
  await browser.post("/dashboard/sign-in/link", hiddenFields(text));
  const id = String(rows[0]!.session_id);
  const run = await browser.get(`/dashboard/session?${new URLSearchParams({ id })}`);
  if (run.status === 200 && run.text.includes(doneText)) return undefined;
  return `the dashboard has no run of session ${id}: ${run.status}`;
}

/** The user's second terminal. */
class Terminal {
  constructor(readonly work: string, readonly env: Record<string, string>) {}

  type(script: string): Promise<ShellEnd> {
    return runShell({ script, work: this.work, home: this.env.HOME!, env: this.env });
  }
}

/** Seconds from step to step. */
class Times {
  #sinceMs = performance.now();
  #steps: string[] = [];

  note(step: string): void {
    const nowMs = performance.now();
    this.#steps.push(`${step} ${((nowMs - this.#sinceMs) / 1000).toFixed(1)}`);
    this.#sinceMs = nowMs;
  }

  take(): string {
    return `${this.#steps.splice(0).join(", ")} s`;
  }
}

/** What is committed, as the user's `git clone` gets it. */
async function cloneTree(folder: string, clone: string): Promise<void> {
  // Git asks whose a repository is, which says nothing here.
  await Deno.writeTextFile(`${folder}/gitconfig`, "[safe]\n\tdirectory = *\n");
  const { success, stderr } = await new Deno.Command("git", {
    args: ["clone", "--quiet", "--no-hardlinks", root, clone],
    env: { GIT_CONFIG_GLOBAL: `${folder}/gitconfig` },
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** An empty home, and a PATH with Node.js and the system's own tools. */
async function machineAt(folder: string): Promise<Record<string, string>> {
  const [home, bin] = [`${folder}/home`, `${folder}/bin`];
  for (const each of [home, bin]) await Deno.mkdir(each);
  const path = Deno.env.get("PATH")!.split(":");
  for (const name of ["node", "npm", "npx"]) {
    const found = path.map((each) => `${each}/${name}`).find(isThere);
    if (found === undefined) throw new Error(`This machine has no ${name}.`);
    await Deno.symlink(await Deno.realPath(found), `${bin}/${name}`);
  }
  // Certificates of a proxy are the machine's, as is the registry.
  const machine = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "DENO_CERT", "NPM_CONFIG_REGISTRY"]
    .flatMap((name) => {
      const value = Deno.env.get(name);
      return value === undefined ? [] : [[name, value]];
    });
  return {
    ...Object.fromEntries(machine),
    HOME: home,
    PATH: `${home}/.npm-global/bin:${bin}:/usr/bin:/bin`,
    // Where Node.js was installed by the system this is its user's own setting.
    NPM_CONFIG_PREFIX: `${home}/.npm-global`,
    DENO_DIR: `${home}/.cache/deno`,
  };
}
