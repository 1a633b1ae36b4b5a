import { startService } from "../support/process.ts";
import { doneText } from "./scripted_vendor.ts";
import { blockOf, endProcessesOf, runShell, type ShellEnd } from "./shell.ts";
import { startAgentVendors } from "./world.ts";

/** Agents with whom docs/agents.md makes a first session. */
export const firstAgents = ["claude-code", "codex"] as const;

const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/**
 * A new user's way to a recorded session: an empty home, a copy of this tree, and the blocks of
 * docs/agents.md with the lines that they print. Nothing else is typed. What is wrong with it.
 */
export async function runFirstSession(
  agent: typeof firstAgents[number],
  page: string,
): Promise<string[]> {
  // Codex warns of a home below /tmp.
  const folder = await Deno.makeTempDir({ dir: "/var/tmp", prefix: "first-" });
  const clone = `${folder}/demeter`;
  const note = `${clone}/note.txt`;
  const { vendors, env, stop } = await startAgentVendors(() => note);
  try {
    await copyTree(clone);
    for (const home of ["terminal", "service"]) await Deno.mkdir(`${folder}/${home}`);
    const service = await startService({
      executable: "/bin/bash",
      args: ["-e", "-c", blockOf(page, "serve")],
      cwd: clone,
      env: {
        ...Object.fromEntries(Object.entries(env).filter(([name]) => name.endsWith("_BASE_URL"))),
        ...{ OPENAI_API_KEY: env.VENDOR_B_API_KEY!, ANTHROPIC_API_KEY: env.VENDOR_C_API_KEY! },
        ...machineOf(`${folder}/service`),
        DATA_DIR: `${clone}/data`,
      },
      timeoutMs: 120_000,
    });
    try {
      const problems = await typeBlocks(agent, page, clone, machineOf(`${folder}/terminal`));
      return [...vendors.flatMap(({ refusals }) => refusals).slice(0, 1), ...problems];
    } finally {
      // The task and the program that it started.
      endProcessesOf(`${folder}/service`);
      await service[Symbol.asyncDispose]();
    }
  } finally {
    await stop();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Types the agent's blocks, and the lines that the first one prints. */
async function typeBlocks(
  agent: typeof firstAgents[number],
  page: string,
  work: string,
  env: Record<string, string>,
): Promise<string[]> {
  const type = (script: string): Promise<ShellEnd> => runShell({ script, work, home: work, env });
  const made = await type(blockOf(page, `first-${agent}`));
  // The last line starts the program.
  const pasted = /^For .*:\n([\s\S]*)\n.+\n$/m.exec(made.out)?.[1];
  if (pasted === undefined) return [`no lines to paste: ${made.err.slice(-300)}`];
  const asked = await type(`${pasted}\n${blockOf(page, `ask-${agent}`)}`);
  if (!asked.out.includes(doneText)) {
    return [`code ${asked.code}: ${(asked.out + asked.err).trim().slice(-300)}`];
  }
  return wrongIn(agent, (await type(blockOf(page, "recorded"))).out);
}

/** What is wrong with the rows of a session, as the export's lines have them. */
function wrongIn(agent: typeof firstAgents[number], text: string): string[] {
  const rows = text.split("\n").filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const sessions = new Set(rows.map(({ session_id }) => session_id));
  const isWhole = rows.every(({ status, charged_usd, client }) =>
    status === "completed" && /[1-9]/.test(String(charged_usd)) &&
    String(client).startsWith(agent === "codex" ? "codex" : "claude-cli")
  );
  const isOne = sessions.size === 1 && /\S/.test(String([...sessions][0] ?? ""));
  return rows.length >= 2 && isOne && isWhole ? [] : [`recorded: ${text.slice(0, 500)}`];
}

/** What a clone of this tree holds. */
async function copyTree(to: string): Promise<void> {
  await Deno.mkdir(to);
  const script = 'git ls-files -coz --exclude-standard | tar -c --null -T - | tar -x -C "$1"';
  const { success, stderr } = await new Deno.Command("bash", {
    args: ["-e", "-o", "pipefail", "-c", script, "copy", to],
    cwd: root,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** The machine of a new user: an empty home, and what the machine has for everybody. */
function machineOf(home: string): Record<string, string> {
  const deno = Deno.execPath().replace(/\/[^/]+$/, "");
  const authorities = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"].flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    ...Object.fromEntries(authorities),
    HOME: home,
    PATH: `${home}/.npm-global/bin:${deno}:/usr/local/bin:/usr/bin:/bin`,
    NPM_CONFIG_PREFIX: `${home}/.npm-global`,
    // The first run of a new user downloads it.
    DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
  };
}
