/**
 * What SDKs and frameworks sent (`deno task sdks --record`), sent again: in the gate to their own
 * vendor, half of it also to one of two others, with `MATRIX=all` to both. Each refuses what the
 * real one refuses.
 */
import assert from "@std/assert";
import { RowChecks } from "../support/row_checks.ts";
import { sample } from "../support/sample.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { clients, type Lane, modelsOf } from "./clients.ts";
import { explanations } from "./explained.ts";
import { blockOf } from "./run.ts";
import { fixtures, type Recorded } from "./record.ts";

const service = shared(() => startSimulatedService({ STARTING_CREDIT_USD: "1000" }));
const names = [...Deno.readDirSync(fixtures)].map(({ name }) => name.replace(".json", ""))
  .toSorted();

Deno.test("each client's lanes are recorded, and its block stands in the page", async () => {
  const lanes = clients.flatMap(({ name, lanes }) => lanes.map((lane) => `${name}-${lane}`));
  assert.deepEqual(names, lanes.toSorted());
  const page = await Deno.readTextFile("docs/sdks.md");
  for (const { name } of clients) assert.match(blockOf(page, name), /BASE/);
  const flat = page.replaceAll(/\s+/g, " ");
  for (const { why } of explanations) assert.ok(flat.includes(why), why);
});

Deno.test("what the gate sends again stays small", () => {
  const sizes = names.map((name) => Deno.statSync(`${fixtures}/${name}.json`).size);
  assert.ok(Math.max(...sizes) < 16_384);
  assert.ok(sizes.reduce((sum, size) => sum + size) < 262_144);
});

const all = Deno.env.get("MATRIX") === "all";
function modelsFor(name: string, lane: Lane): string[] {
  const [own, ...others] = modelsOf[lane];
  return [own!, ...sample(others, { oneOf: 4, salt: name, all })];
}

/** What the answer to each feature must contain. */
const answers: Readonly<Record<string, RegExp>> = {
  stream: /Sweden/,
  tools: /sunny|get_weather/,
  object: /Oslo/,
};

const rows = new RowChecks();
let calls = 0;

for (const name of names) {
  const lane = name.slice(name.lastIndexOf("-") + 1) as Lane;
  for (const model of modelsFor(name, lane)) {
    Deno.test(`what ${name} sends is taken by ${model}`, async () => {
      const recorded = JSON.parse(Deno.readTextFileSync(`${fixtures}/${name}.json`)) as Recorded[];
      assert.ok(recorded.length > 0);
      for (const { feature, path, headers, body } of recorded) {
        const to = path.replace(/\/models\/.*?(:\w+)/, (_, method) => `/models/${model}${method}`);
        const asked = "model" in body ? { ...body, model } : body;
        const answer = await service().post(to, asked, headers);
        const text = await answer.text();
        assert.equal(answer.status, 200, `${feature}: ${text.slice(0, 500)}`);
        // A stream's text comes in pieces of any length.
        const pieces = text.matchAll(/"(?:text|content|delta)":"((?:[^"\\]|\\.)*)"/g);
        const said = [...pieces].map(([, piece]) => piece).join("");
        assert.match(said + text, answers[feature]!, `${feature}: ${text.slice(0, 2000)}`);
        calls++;
        rows.expect(answer, `${name}, ${feature}, ${model}`, ({ status, charged_usd }) => {
          assert.equal(status, "completed");
          assert.match(String(charged_usd), /[1-9]/);
        });
      }
    });
  }
}

rows.register(service);

Deno.test("no call has another row", async () => {
  assert.equal((await service().rows()).length, calls);
});
