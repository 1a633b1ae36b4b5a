/**
 * `deno task agents [NAME…] [--record]`: the real programs, installed into a temporary folder at the
 * versions that docs/agents.md names, run by its blocks on their own vendor and on two others, and
 * `first-session`, a new user's way on an empty machine. Prints a table; ends with 1 where a cell
 * fails. `--record` writes what the agents sent, scrubbed, to tests/fixtures/agents, which the gate
 * sends again.
 */
import type { Row } from "../support/service.ts";
import { type Agent, agents, agentsFolder, install } from "./agents.ts";
import { runFirstSessions } from "./first_session.ts";
import { record } from "./recording.ts";
import { doneText, fileWord, noToolText } from "./scripted_vendor.ts";
import { blockOf, runShell, timeoutMs } from "./shell.ts";
import { type AgentWorld, startAgentWorld } from "./world.ts";

/** One tool call and an answer take two calls; agents add those for titles and summaries. */
const maxCalls = 8;
const prompt = "Read the file note.txt and tell me what it holds.";

async function main(): Promise<number> {
  const names = Deno.args.filter((one) => !one.startsWith("--"));
  const isRecording = Deno.args.includes("--record");
  const isWanted = (name: string) => names.length === 0 || names.includes(name);
  const wanted = agents.filter(({ name }) => isWanted(name));
  const page = await Deno.readTextFile(`${import.meta.dirname}/../../docs/agents.md`);
  const { folder, isTemporary } = await agentsFolder();
  let file = "";
  const world = await startAgentWorld(() => file);
  const lines = [
    "| agent | model | ended | calls | by | losses |",
    "| --- | --- | --- | --- | --- | --- |",
  ];
  let failed = 0;
  try {
    for (const agent of wanted) {
      const home = `${folder}/${agent.folder ?? agent.name}`;
      const problem = await install(agent, home);
      // HTTP shows a request's headers beside its body.
      const block = isRecording
        ? blockOf(page, agent.name).replace("websockets = true", "websockets = false")
        : blockOf(page, agent.name);
      for (const model of agent.models) {
        const work = await Deno.makeTempDir({ dir: home, prefix: "run-" });
        file = `${work}/note.txt`;
        await Deno.writeTextFile(file, `The note says ${fileWord}.\n`);
        const cell = problem === undefined
          ? await runCell(world, agent, { block, home, work, model, isRecording })
          : { problems: [problem], figures: "0 | |" };
        if (cell.problems.length > 0) failed++;
        const outcome = cell.problems.length > 0 ? `✗ ${cell.problems.join(" · ")}` : "✓";
        const line = `| ${agent.name} | ${model} | ${cellText(outcome)} | ${cell.figures} |`;
        lines.push(line);
        console.log(line);
      }
    }
    for (const { agent, problems, calls, seconds } of await firstSessions(page, isWanted)) {
      if (problems.length > 0) failed++;
      const outcome = problems.length > 0 ? `✗ ${problems.join(" · ")}` : `✓ ${seconds}`;
      const line = `| first session: ${agent} | its own | ${cellText(outcome)} | ${calls} | | |`;
      lines.push(line);
      console.log(line);
    }
  } finally {
    await world.stop();
    if (isTemporary) await Deno.remove(folder, { recursive: true });
  }
  console.log(`\n${lines.join("\n")}`);
  return failed === 0 ? 0 : 1;
}

async function firstSessions(page: string, isWanted: (name: string) => boolean) {
  return isWanted("first-session") ? await runFirstSessions(page) : [];
}

interface CellRun {
  block: string;
  home: string;
  work: string;
  model: string;
  isRecording: boolean;
}

/** One run of an agent: its errors, and the rest of its line of the table. */
async function runCell(
  { service, vendors, tap }: AgentWorld,
  agent: Agent,
  { block, home, work, model, isRecording }: CellRun,
): Promise<{ problems: string[]; figures: string }> {
  for (const vendor of vendors) vendor.refusals.length = 0;
  const since = new Date().toISOString();
  const env = { BASE: tap.url, KEY: service.key, MODEL: model, PROMPT: prompt };
  const end = await runShell({ script: block, work, home, env });
  const output = end.out + end.err;
  const rows = (await service.rows()).filter((row) => String(row.created_at) >= since);
  const calls = tap.take();
  const posts = calls.filter(({ method, path }) => method === "POST" && !path.includes("count"));
  const frames = tap.takeSockets().flatMap(({ sent }) => sent).filter(isCall);
  if (isRecording && model === agent.models[0]) {
    await record(agent.name, calls, [service.key, home, work]);
  }
  const problems: string[] = [];
  if (!end.out.includes(agent.hasNoTools ? noToolText : doneText)) {
    const how = end.isLate ? `no end after ${timeoutMs / 1000} s` : `code ${end.code}`;
    problems.push(`${how}: ${output.trim().slice(-300)}`);
  }
  problems.push(...vendors.flatMap(({ refusals }) => refusals).slice(0, 1));
  const bad = rows.filter(({ status }) => status !== "completed");
  if (bad.length > 0) problems.push(`${bad.length} calls failed: ${bad[0]!.error_code}`);
  if (rows.length === 0 || rows.length > maxCalls) problems.push(`${rows.length} calls`);
  if (rows.length !== posts.length + frames.length) {
    problems.push(`${rows.length} records of ${posts.length} requests, ${frames.length} frames`);
  }
  if (agent.transport === "websocket" && !isRecording && (posts.length > 0 || !frames.length)) {
    problems.push(`${posts.length} requests beside ${frames.length} frames`);
  }
  const warning = agent.quietModel === model && warningIn(output);
  if (warning) problems.push(warning);
  return { problems, figures: figuresOf(rows, frames.length > 0 ? "websocket" : "http") };
}

/** A line that warns of anything but this machine's sandbox. */
function warningIn(output: string): string | undefined {
  return output.split("\n").find((line) =>
    /warn|reconnecting|falling back/i.test(line) && !line.includes("bubblewrap")
  );
}

/** Whether a frame asks for an answer: warming up is no call. */
function isCall(frame: string): boolean {
  const { type, generate } = JSON.parse(frame) as Record<string, unknown>;
  return type === "response.create" && generate !== false;
}

/** How many calls there were, how they travelled, and what was lost in them. */
function figuresOf(rows: readonly Row[], transport: string): string {
  const losses = new Set(rows.flatMap((row) => row.translation_loss as string[]));
  return `${rows.length} | ${transport} | ${[...losses].slice(0, 6).join(", ")}`;
}

/** Text of a table's cell. */
function cellText(text: string): string {
  return text.replaceAll("|", "/").replaceAll("\n", " ").slice(0, 500);
}

if (import.meta.main) Deno.exit(await main());
