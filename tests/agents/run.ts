/**
 * `deno task agents [NAME…] [--record]`: the real programs, installed into a temporary folder at the
 * versions that docs/agents.md names, run by its blocks on their own vendor and on two others. Prints
 * a table; ends with 1 where a cell fails. `--record` writes what the agents sent, scrubbed, to
 * tests/fixtures/agents, which the gate sends again.
 */
import { startSimulators } from "../../demo/simulators.ts";
import { simulatedEnvironment, startTestService } from "../support/service.ts";
import { startTap, type TappedCall } from "../matrix/tap.ts";
import { doneText, fileWord, noToolText, startScriptedAgentVendor } from "./scripted_vendor.ts";

interface Agent {
  readonly name: string;
  readonly install: readonly string[];
  /** The program's own vendor first, then two others. */
  readonly models: readonly string[];
}

const [sol, claude, flash] = [
  "openai/gpt-5.6-sol",
  "anthropic/claude-sonnet-4-6",
  "google/gemini-3.8-flash",
] as const;
const npm = (name: string) => ["npm", "install", "--no-audit", "--no-fund", "--silent", name];

const agents: readonly Agent[] = [
  { name: "codex", install: npm("@openai/codex@0.169.0"), models: [sol, claude, flash] },
  {
    name: "claude-code",
    install: npm("@anthropic-ai/claude-code@2.1.330"),
    models: [claude, sol, flash],
  },
  { name: "gemini-cli", install: npm("@google/gemini-cli@0.61.0"), models: [flash, sol, claude] },
  { name: "opencode", install: npm("opencode-ai@1.18.33"), models: [flash, claude, sol] },
  { name: "qwen-code", install: npm("@qwen-code/qwen-code@0.24.4"), models: [flash, claude, sol] },
  { name: "cline", install: npm("cline@3.0.65"), models: [claude, flash, sol] },
  {
    name: "aider",
    install: ["pip", "install", "--quiet", "--target", "python", "aider-chat==0.86.2"],
    models: [sol, claude, flash],
  },
];

/** Longer than any agent takes on a machine that does something else. */
const timeoutMs = Number(Deno.env.get("AGENT_SECONDS") ?? 240) * 1000;
const prompt = "Read the file note.txt and tell me what it holds.";

/** The agent's block of docs/agents.md. */
function blockOf(page: string, name: string): string {
  const found = new RegExp(`^\`\`\`sh agent=${name}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page);
  if (!found) throw new Error(`docs/agents.md has no block for ${name}`);
  return found[1]!;
}

async function main(): Promise<number> {
  const names = Deno.args.filter((one) => !one.startsWith("--"));
  const wanted = agents.filter(({ name }) => names.length === 0 || names.includes(name));
  const page = await Deno.readTextFile(new URL("../../docs/agents.md", import.meta.url));
  const folder = Deno.env.get("AGENTS_DIR") ?? await Deno.makeTempDir({ prefix: "agents-" });
  const simulators = await startSimulators();
  let file = "";
  const env: Record<string, string> = simulatedEnvironment(simulators);
  const vendors = (["vendor-b", "vendor-c", "vendor-d"] as const).map((label) => {
    const vendor = startScriptedAgentVendor(simulators.vendors[label].baseUrl, () => file);
    env[`${label.toUpperCase().replace("-", "_")}_BASE_URL`] = vendor.url;
    return vendor;
  });
  const service = await startTestService({ env: { ...env, STARTING_CREDIT_USD: "1000" } });
  const tap = startTap(service.baseUrl);
  const lines = ["| agent | model | ended | calls | losses |", "| --- | --- | --- | --- | --- |"];
  let failed = 0;
  try {
    for (const agent of wanted) {
      const home = `${folder}/${agent.name}`;
      await Deno.mkdir(home, { recursive: true });
      const problem = await install(agent, home);
      for (const model of agent.models) {
        for (const vendor of vendors) vendor.refusals.length = 0;
        // The tap knows HTTP alone: a WebSocket goes around it, and is not recorded.
        const isRecording = Deno.args.includes("--record");
        const whole = blockOf(page, agent.name);
        const block = isRecording
          ? whole.replace("websockets = true", "websockets = false")
          : whole;
        const base = isRecording ? tap.url : service.baseUrl;
        const work = await Deno.makeTempDir({ dir: home, prefix: "run-" });
        file = `${work}/note.txt`;
        await Deno.writeTextFile(file, `The note says ${fileWord}.\n`);
        const since = new Date().toISOString();
        const outcome = problem ??
          await run(agent, { block, home, work, base, model, service });
        const rows = (await service.rows()).filter((row) => String(row.created_at) >= since);
        const refusals = vendors.flatMap((vendor) => vendor.refusals);
        const bad = rows.filter(({ status }) => status !== "completed").length;
        const isOk = outcome.startsWith("ok") && refusals.length === 0 && bad === 0 &&
          rows.length > 0;
        if (!isOk) failed++;
        const losses = new Set(rows.flatMap((row) => row.translation_loss as string[]));
        const told = [
          isOk ? `✓${outcome.slice(2)}` : `✗ ${outcome}`,
          ...refusals.slice(0, 1),
          ...(bad > 0
            ? [`${bad} calls failed: ${rows.find((row) => row.error_code)?.error_code}`]
            : []),
        ].join(" · ").replaceAll("|", "/").replaceAll("\n", " ").slice(0, 400);
        const line = `| ${agent.name} | ${model} | ${told} | ${rows.length} | ${
          [...losses].slice(0, 6).join(", ")
        } |`;
        lines.push(line);
        console.log(line);
        const calls = tap.take();
        if (isRecording && model === agent.models[0]) {
          await record(agent.name, calls, [service.key, home, work]);
        }
      }
    }
  } finally {
    await tap.close();
    await service.stop();
    await Promise.all(vendors.map((vendor) => vendor.close()));
    await simulators.close();
    if (!Deno.env.has("AGENTS_DIR")) await Deno.remove(folder, { recursive: true });
  }
  console.log(`\n${lines.join("\n")}`);
  return failed === 0 ? 0 : 1;
}

async function install(agent: Agent, home: string): Promise<string | undefined> {
  const [command, ...args] = agent.install;
  const isThere = await Deno.stat(`${home}/node_modules`).catch(() => undefined);
  if (isThere) return undefined;
  await Deno.writeTextFile(`${home}/package.json`, "{}");
  const { success, stderr } = await new Deno.Command(command!, { args, cwd: home, stdin: "null" })
    .output();
  return success ? undefined : `not installed: ${new TextDecoder().decode(stderr).slice(-200)}`;
}

async function run(
  agent: Agent,
  { block, home, work, base, model, service }: {
    block: string;
    home: string;
    work: string;
    base: string;
    model: string;
    service: { key: string };
  },
): Promise<string> {
  const path = [`${home}/node_modules/.bin`, `${home}/python/bin`, "/usr/local/bin:/usr/bin:/bin"];
  const child = new Deno.Command("bash", {
    args: ["-e", "-c", block],
    cwd: work,
    clearEnv: true,
    env: {
      ...{ HOME: work, PATH: path.join(":"), PYTHONPATH: `${home}/python`, TERM: "dumb" },
      ...{ BASE: base, KEY: service.key, MODEL: model, PROMPT: prompt },
    },
    ...{ stdin: "null", stdout: "piped", stderr: "piped" },
  }).spawn();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, timeoutMs);
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (out!.includes(doneText)) return "ok";
  if (out!.includes(noToolText)) return "ok, no tool known";
  const end = isLate ? `no end after ${timeoutMs / 1000} s` : `code ${code}`;
  return `${agent.name}: ${end}: ${(out! + err!).trim().slice(-200)}`;
}

/** Headers of a call that its replay needs. */
const recordedHeaders =
  /^(anthropic-|openai-beta|x-goog-api-client|accept$|user-agent$|x-stainless-lang$)/;

async function record(name: string, calls: readonly TappedCall[], secrets: readonly string[]) {
  const posts = calls.filter(({ method, status }) => method === "POST" && status === 200);
  // The largest has the tools; with the result of one it is the last of them.
  const largest = posts.toSorted((a, b) => b.requestText.length - a.requestText.length)[0];
  if (!largest) return;
  const scrub = (text: string) =>
    secrets.reduce(
      (rest, secret, at) => rest.replaceAll(secret, ["KEY", "/home", "/work"][at]!),
      text,
    )
      .replaceAll(
        /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
        (one) => one.replaceAll(/[0-9a-f]/g, "0"),
      )
      .replaceAll(/"[0-9a-f]{64}"/g, `"${"0".repeat(64)}"`)
      .replaceAll(Deno.hostname(), "machine")
      .replaceAll(/Linux \d[\w.+-]*/g, "Linux")
      // It was issued for arguments that have changed with the paths above.
      .replaceAll(
        /"thoughtSignature":"[^"]*"/g,
        '"thoughtSignature":"skip_thought_signature_validator"',
      );
  const headers = [...largest.requestHeaders].filter(([header]) => recordedHeaders.test(header));
  const fixture = {
    path: largest.path,
    headers: Object.fromEntries(headers),
    body: JSON.parse(scrub(largest.requestText)),
  };
  const folder = new URL("../fixtures/agents/", import.meta.url);
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(new URL(`${name}.json`, folder), `${JSON.stringify(fixture)}\n`);
}

if (import.meta.main) Deno.exit(await main());
