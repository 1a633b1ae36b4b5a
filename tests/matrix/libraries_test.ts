import assert from "@std/assert";
import { inTurn } from "../support/sample.ts";
import { shared } from "../support/service.ts";
import { checkCalls } from "./checks.ts";
import { librariesAt, libraryNames } from "./libraries.ts";
import type { Library, Told, ToolTurns } from "./library.ts";
import { startMatrixService } from "./service.ts";
import { type MatrixVendor, upstreamDialect, vendors } from "./vendors.ts";

const service = shared(async () => {
  const started = await startMatrixService();
  return { ...started, libraries: librariesAt({ url: started.callers.url, key: started.key }) };
});

/**
 * In the gate each library does each of these with one vendor, another for each, and each is done
 * with every vendor; `MATRIX=all` tries every cell.
 */
const all = Deno.env.get("MATRIX") === "all";

/** What one cell does with a library, whose calls are checked afterwards. */
type Feature = (library: Library, vendor: MatrixVendor, model: string) => Promise<Told[]>;

const features: Readonly<Record<string, Feature>> = {
  "whole and streamed": async (library, _vendor, model) => {
    const prompt = `Tell me about the rivers of ${library.name}.`;
    const whole = await library.whole(model, prompt);
    const streamed = await library.stream(model, prompt);
    assert.equal(streamed.text, whole.text);
    assert.deepEqual(streamed.tokens, whole.tokens);
    for (const told of [whole, streamed]) expectText(told, /rivers/);
    return [whole, streamed];
  },
  "tools": async (library, _vendor, model) => [
    expectToolTurns(await library.tools(model, question)).last,
  ],
  "image": async (library, _vendor, model) => [
    expectText(await library.image(model, "What is this picture?", pixelPng), /image\/png/),
  ],
  "schema": async (library, _vendor, model) => [
    expectPerson(await library.schema(model, "Invent a person who lives in Oslo.")),
  ],
};

for (const [index, name] of libraryNames.entries()) {
  for (const [at, [feature, run]] of Object.entries(features).entries()) {
    for (const vendor of inTurn(vendors, index + at, all)) {
      Deno.test(`${name} on ${vendor.label}: ${feature}`, async () => {
        service().silence();
        const library = service().libraries[index]!;
        const told = await run(library, vendor, `${vendor.label}/${vendor.model}`);
        const seen = await checkCalls(service(), vendor, library.dialect);
        // What the library shows is what the last rows have.
        for (const [at, { tokens }] of told.entries()) {
          const { input, output } = seen.slice(-told.length)[at]!.tokens;
          // In its own words vendor-g leaves reasoning out of the output.
          const isAdditive = vendor.label === "vendor-g" && library.dialect === "chat";
          if (!isAdditive) assert.deepEqual(tokens, { input, output });
        }
      });
    }
  }
  for (const vendor of inTurn(vendors, index + Object.keys(features).length, all)) {
    Deno.test(`${name} on ${vendor.label}: reasoning through tools`, async () => {
      service().silence();
      const library = service().libraries[index]!;
      const model = `${vendor.label}/${vendor.strictModel}`;
      const turns = expectToolTurns(await library.reasoning(model, question));
      const seen = await checkCalls(service(), vendor, library.dialect);
      assert.ok(seen.some(({ tokens }) => tokens.reasoning > 0), "reasoning tokens are recorded");
      if (isHidden(library, vendor)) assert.equal(turns.thoughts, "");
      else assert.match(turns.thoughts, /^The user asks about/);
    });
  }
}

/** Whether this library shows no reasoning of this vendor, although it was asked for. */
function isHidden(library: Library, vendor: MatrixVendor): boolean {
  const upstream = upstreamDialect(vendor, library.dialect);
  // It reads no extension of the chat dialect, and of responses only summaries, not the text.
  if (library.name === "ai with openai, chat") return true;
  if (library.name === "ai with openai, responses" && vendor.label === "vendor-a") return true;
  return !vendor.showsReasoning && upstream === "chat";
}

const question = "What are the weather and the time in Paris?";

/** A red pixel. */
const pixelPng =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

function expectText(told: Told, words: RegExp): Told {
  assert.match(told.text, words);
  assert.ok(told.ended, "the answer ended by itself");
  return told;
}

function expectToolTurns(turns: ToolTurns): ToolTurns {
  const { calls, endedWithCalls, last } = turns;
  assert.deepEqual(calls.map(({ name }) => name), ["get_weather", "get_time"]);
  assert.equal(new Set(calls.map(({ id }) => id)).size, 2, "each call has an id of its own");
  for (const call of calls) assert.deepEqual(call.arguments, { city: "Paris" });
  assert.ok(endedWithCalls, "the first answer ends with its calls");
  expectText(last, /get_weather: .*sunny, 21 °C.*get_time: .*12:30/);
  return turns;
}

function expectPerson(told: Told): Told {
  const person = JSON.parse(told.text) as Record<string, unknown>;
  assert.deepEqual(Object.keys(person).sort(), ["age", "home", "mood", "name"]);
  assert.equal(typeof person.name, "string");
  assert.ok(Number.isInteger(person.age));
  assert.ok(["glad", "sad"].includes(String(person.mood)));
  assert.equal(typeof (person.home as { city: unknown }).city, "string");
  assert.ok(told.ended);
  return told;
}
