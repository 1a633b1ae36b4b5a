import { chatProbes } from "./chat.ts";
import { generateProbes } from "./generate.ts";
import { messagesProbes } from "./messages.ts";
import { type ConformanceOptions, conformanceUsage, readConformanceOptions } from "./options.ts";
import { responsesProbes } from "./responses.ts";
import { renderRouting, type RoutingRow, routingRows } from "./routing.ts";
import { probeRow, renderTable, type Row } from "./table.ts";

/**
 * `deno task conformance --base-url U --key K`: tests dialect × vendor × feature against any
 * server, with the vendors' own client libraries, and prints a table. `--model vendor-b/name`,
 * which may be repeated, chooses the models; by default it is each vendor's first one that is known
 * to do everything. A second table shows routing: `--virtual NAME` names a virtual model for it, by
 * default the first in the list.
 */
const { baseUrl, key, models: asked, virtual } = optionsOf(Deno.args);

function optionsOf(argv: readonly string[]): ConformanceOptions {
  if (argv.includes("--help") || argv.includes("-h")) {
    console.log(`usage: ${conformanceUsage}`);
    Deno.exit(0);
  }
  try {
    return readConformanceOptions(argv);
  } catch (thrown) {
    console.error(
      `${thrown instanceof Error ? thrown.message : thrown}\nusage: ${conformanceUsage}`,
    );
    Deno.exit(2);
  }
}

/** Models that can see, reason, call tools and answer in JSON, by vendor. */
const preferred: readonly RegExp[] = [
  /^vendor-a\/deepseek-ai\/DeepSeek-V4-Flash$/,
  /^vendor-b\/gpt-6-luna$/,
  /^vendor-c\/claude-haiku-5-5$/,
  /^vendor-[de]\/gemini-3\.8-flash$/,
  /^vendor-f\/openai\/gpt-5-mini$/,
  /^vendor-g\/grok-4\.3$/,
];

const server = { baseUrl, key };
const dialects = [
  chatProbes(server),
  responsesProbes(server),
  messagesProbes(server),
  generateProbes(server),
];
const rows: Row[] = [];
const ids = await listModels();
const models = chooseModels(ids.filter((id) => id.includes("/")));
for (const [vendor, model] of models) {
  for (const dialect of dialects) rows.push(await probeRow(dialect, vendor, model));
}
const routing = await probeRouting();
console.log(`${renderTable(rows)}\n\n${renderRouting(routing)}`);
Deno.exit(
  [...rows, ...routing].every((row) =>
      [...row.cells.values()].every((cell) => cell.ok || cell.refused)
    )
    ? 0
    : 1,
);

/** Tests routing between the models of two vendors; returns no rows if the server has only one. */
async function probeRouting(): Promise<RoutingRow[]> {
  const [first, second] = [models.get("vendor-b"), models.get("vendor-c")];
  const others = [...models.values()].filter((model) => model !== first && model !== second);
  const pair = [first, second, ...others].filter((model) => model !== undefined);
  if (pair.length < 2) return [];
  return await routingRows(server, {
    first: pair[0]!,
    second: pair[1]!,
    virtual: virtual ?? ids.find((id) => !id.includes("/")),
  });
}

async function listModels(): Promise<string[]> {
  const answer = await fetch(`${baseUrl}/chat/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  }).catch(() => {
    console.error(`--base-url ${baseUrl}: no server answers there`);
    Deno.exit(1);
  });
  if (!answer.ok) {
    console.error(`the model list answered with status ${answer.status}`);
    Deno.exit(1);
  }
  const { data } = await answer.json() as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

/** Chooses one model per vendor. */
function chooseModels(ids: readonly string[]): Map<string, string> {
  const chosen = new Map<string, string>();
  for (const id of asked) chosen.set(vendorOf(id), id);
  const likely = ids.filter((id) => preferred.some((pattern) => pattern.test(id)));
  for (const id of [...likely, ...ids]) {
    if (!chosen.has(vendorOf(id))) chosen.set(vendorOf(id), id);
  }
  return new Map([...chosen].sort(([a], [b]) => a.localeCompare(b)));
}

function vendorOf(id: string): string {
  return id.slice(0, id.indexOf("/"));
}
