import { parseArgs } from "node:util";
import { chatProbes } from "./chat.ts";
import { generateProbes } from "./generate.ts";
import { messagesProbes } from "./messages.ts";
import { responsesProbes } from "./responses.ts";
import { probeRow, renderTable, type Row } from "./table.ts";

/**
 * `deno task conformance --base-url U --key K`: runs dialect × vendor × feature with the vendors'
 * own client libraries against any server and prints the table. `--model vendor-b/name` (again and
 * again) chooses the models; else the first of each vendor that is known to do everything.
 */
const { values } = parseArgs({
  args: Deno.args,
  options: {
    "base-url": { type: "string" },
    key: { type: "string" },
    model: { type: "string", multiple: true },
  },
});
const baseUrl = values["base-url"]?.replace(/\/+$/, "");
const key = values.key;
if (!baseUrl || !key) {
  console.error("usage: deno task conformance --base-url URL --key API_KEY [--model VENDOR/NAME]…");
  Deno.exit(2);
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
for (const [vendor, model] of await chooseModels()) {
  for (const dialect of dialects) rows.push(await probeRow(dialect, vendor, model));
}
console.log(renderTable(rows));
Deno.exit(
  rows.every((row) => [...row.cells.values()].every((cell) => cell.ok || cell.refused)) ? 0 : 1,
);

/** One model per vendor. */
async function chooseModels(): Promise<Map<string, string>> {
  const chosen = new Map<string, string>();
  for (const id of values.model ?? []) chosen.set(vendorOf(id), id);
  const answer = await fetch(`${baseUrl}/chat/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  if (!answer.ok) {
    console.error(`the model list answered with status ${answer.status}`);
    Deno.exit(1);
  }
  const { data } = await answer.json() as { data: { id: string }[] };
  const ids = data.map(({ id }) => id);
  const likely = ids.filter((id) => preferred.some((pattern) => pattern.test(id)));
  for (const id of [...likely, ...ids]) {
    if (!chosen.has(vendorOf(id))) chosen.set(vendorOf(id), id);
  }
  return new Map([...chosen].sort(([a], [b]) => a.localeCompare(b)));
}

function vendorOf(id: string): string {
  return id.slice(0, id.indexOf("/"));
}
