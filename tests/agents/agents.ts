/** The agents that `deno task agents` runs, each at the version that docs/agents.md names. */

export interface Agent {
  /** Its block of docs/agents.md. */
  readonly name: string;
  /** Agents with the same one are installed once; the name itself by default. */
  readonly folder?: string;
  readonly install: readonly string[];
  /** What it sends is recorded from the first: its own vendor, where it has one. */
  readonly models: readonly string[];
  /** How its calls travel; HTTP by default. */
  readonly transport?: "websocket";
  /** It has no tools, and answers with what the model says. */
  readonly hasNoTools?: true;
  /** With this model nothing that it prints may be a warning. */
  readonly quietModel?: string;
}

const [sol, claude, flash] = [
  "openai/gpt-5.6-sol",
  "anthropic/claude-sonnet-4-6",
  "google/gemini-3.8-flash",
] as const;
const npm = (...names: string[]) => [
  ...["npm", "install", "--no-audit", "--no-fund", "--silent", ...names],
];
const codex = { folder: "codex", install: npm("@openai/codex@0.171.0") };

export const agents: readonly Agent[] = [
  { name: "codex", ...codex, models: [sol, claude, flash], transport: "websocket" },
  {
    name: "codex-openai",
    ...codex,
    models: [sol, claude, flash],
    transport: "websocket",
    quietModel: sol,
  },
  {
    name: "claude-code",
    install: npm("@anthropic-ai/claude-code@2.1.332"),
    models: [claude, sol, flash],
  },
  { name: "gemini-cli", install: npm("@google/gemini-cli@0.61.0"), models: [flash, sol, claude] },
  { name: "opencode", install: npm("opencode-ai@1.18.33"), models: [flash, claude, sol] },
  { name: "qwen-code", install: npm("@qwen-code/qwen-code@0.24.4"), models: [flash, claude, sol] },
  { name: "cline", install: npm("cline@3.0.65"), models: [claude, flash, sol] },
  { name: "copilot", install: npm("@github/copilot@1.0.102"), models: [sol, claude, flash] },
  { name: "continue", install: npm("@continuedev/cli@1.5.47"), models: [flash, claude, sol] },
  {
    name: "droid",
    // Its own step that installs the program doesn't use npm.
    install: npm("@factory/cli@0.225.1", "@factory/cli-linux-x64@0.225.1"),
    models: [sol, claude, flash],
  },
  {
    name: "pi",
    install: npm("@mariozechner/pi-coding-agent@0.73.1"),
    models: [flash, claude, sol],
  },
  {
    name: "kimi-code",
    // It doesn't run on older versions of Node.
    install: npm("@moonshot-ai/kimi-code@2.1.0", "node@22.23.3"),
    models: [claude, sol, flash],
  },
  {
    name: "kilo",
    // Its own step that finds the program's package doesn't find it here.
    install: [
      ...npm("--ignore-scripts", "--force", "@kilocode/cli@7.7.7", "@kilocode/cli-linux-x64@7.7.7"),
    ],
    models: [flash, claude, sol],
  },
  {
    name: "aider",
    install: ["pip", "install", "--quiet", "--target", "python", "aider-chat==0.86.2"],
    models: [sol, claude, flash],
    hasNoTools: true,
  },
  {
    name: "mini-swe-agent",
    install: ["pip", "install", "--quiet", "--target", "python", "mini-swe-agent==2.4.6"],
    models: [sol, claude, flash],
  },
  { name: "grok-cli", install: npm("@vibe-kit/grok-cli@0.0.34"), models: [sol, claude, flash] },
];

/** Where programs are kept between runs (`AGENTS_DIR`), or a folder that goes with the run. */
export async function agentsFolder(): Promise<{ folder: string; isTemporary: boolean }> {
  const lasting = Deno.env.get("AGENTS_DIR");
  if (lasting !== undefined) return { folder: lasting, isTemporary: false };
  // Codex warns of a home below /tmp.
  return {
    folder: await Deno.makeTempDir({ dir: "/var/tmp", prefix: "agents-" }),
    isTemporary: true,
  };
}

/** Installs the agent unless it is there; undefined, or what went wrong. */
export async function install(agent: Agent, home: string): Promise<string | undefined> {
  const [command, ...args] = agent.install;
  await Deno.mkdir(home, { recursive: true });
  const there = command === "npm" ? "node_modules" : "python";
  if (await Deno.stat(`${home}/${there}`).catch(() => undefined)) return undefined;
  await Deno.writeTextFile(`${home}/package.json`, "{}");
  const { success, stderr } = await new Deno.Command(command!, { args, cwd: home, stdin: "null" })
    .output();
  return success ? undefined : `not installed: ${new TextDecoder().decode(stderr).slice(-200)}`;
}
