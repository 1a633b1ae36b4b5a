import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { RowChecks } from "../support/row_checks.ts";
import { shared } from "../support/service.ts";
import { checkGrammar } from "./grammar.ts";
import { librariesAt } from "./libraries.ts";
import { answerText, at, dialectNames, endsWell, rawRequest } from "./raw_calls.ts";
import {
  scriptedLabel,
  scriptedModel,
  scriptedPrices,
  startScriptedVendors,
  vendorKeyOfX,
} from "./scripted_vendors.ts";
import { spokenText, vendorWords } from "./vendor_words.ts";
import { startSimulators } from "../../demo/simulators.ts";
import { startTestService } from "../support/service.ts";

/** Vendors that exist only as rows of `VENDORS_FILE`. */
const service = shared(() => startScriptedVendors());
const rows = new RowChecks();

for (const vendor of dialectNames) {
  for (const caller of dialectNames) {
    for (const stream of [false, true]) {
      const how = stream ? "streamed" : "whole";
      Deno.test(`a vendor of ${vendor} added by configuration answers ${caller}, ${how}`, async () => {
        const { path, body } = rawRequest(caller, request(vendor, stream));
        await expectAnswer(await service().post(path, body), caller, vendor, stream);
      });
    }
  }

  Deno.test(`the own paths of an added vendor of ${vendor} answer, with its label and without`, async () => {
    for (const prefix of ["", `${scriptedLabel(vendor)}/`]) {
      for (const stream of [false, true]) {
        const call = { ...request(vendor, stream), model: prefix + scriptedModel };
        const { path, body } = rawRequest(vendor, call);
        const own = path.replace("/chat/", `/${scriptedLabel(vendor)}/`);
        await expectAnswer(await service().post(own, body), vendor, vendor, stream);
      }
    }
    const refused = await service().fetch(`/${scriptedLabel(vendor)}/v1/messages/no/such`);
    assert.equal(refused.status, 404);
    const health = await service().fetch(`/${scriptedLabel(vendor)}/health`);
    assert.equal(health.status, 200);
    assert.equal(at(await health.json(), "vendor"), scriptedLabel(vendor));
  });
}

Deno.test("an added vendor is one row: its key, its scope, its place in the lists", async () => {
  const { key } = await service().createKey("--scope", "x-chat");
  const authorization = { authorization: `Bearer ${key}` };
  const { path, body } = rawRequest("chat", request("chat", false));
  const own = path.replace("/chat/", "/x-chat/");
  const permitted = await service().post(own, { ...body, model: scriptedModel }, authorization);
  assert.equal(permitted.status, 200, await permitted.text());
  assert.equal((await service().post(path, body, authorization)).status, 403);
  assert.equal((await service().post("/x-messages/v1/messages", {}, authorization)).status, 403);
});

Deno.test("an added vendor in front of a simulated one serves every official library", async () => {
  const simulators = await startSimulators();
  const directory = await Deno.makeTempDir({ prefix: "added-" });
  const vendors = await Promise.all(
    ([["vendor-b", ["responses"], "bearer"], ["vendor-c", ["messages"], "x-api-key"]] as const)
      .map(([label, dialects, auth]) => ({
        label: `eighth-${label.at(-1)}`,
        aliases: [`alias-${label.at(-1)}`],
        base_url: simulators.vendors[label].baseUrl,
        api_key_env: `KEY_${label.at(-1)!.toUpperCase()}`,
        dialects,
        auth,
      })),
  );
  await Deno.writeTextFile(`${directory}/vendors.json`, JSON.stringify(vendors));
  const price = { input: "1", output: "2" };
  await Deno.writeTextFile(
    `${directory}/prices.json`,
    JSON.stringify({ "eighth-b/gpt-6-luna": price, "alias-c/claude-haiku-5-5": price }),
  );
  {
    await using service = await startTestService({
      env: {
        VENDORS_FILE: `${directory}/vendors.json`,
        PRICES_FILE: `${directory}/prices.json`,
        KEY_B: simulators.vendors["vendor-b"].apiKey,
        KEY_C: simulators.vendors["vendor-c"].apiKey,
      },
    });
    for (const library of librariesAt({ url: service.baseUrl, key: service.key })) {
      for (const model of ["eighth-b/gpt-6-luna", "alias-c/claude-haiku-5-5"]) {
        const whole = await library.whole(model, "Tell me about rivers.");
        const streamed = await library.stream(model, "Tell me about rivers.");
        assert.match(whole.text, /rivers/, `${library.name} ${model}`);
        assert.equal(streamed.text, whole.text);
        const { calls, last } = await library.tools(
          model,
          "What are the weather and time in Rome?",
        );
        assert.equal(calls.length, 2);
        assert.match(last.text, /sunny/);
      }
    }
    const { data } = await (await service.fetch("/chat/v1/models")).json();
    const ids = (data as { id: string }[]).map(({ id }) => id);
    for (const id of ["eighth-b/gpt-6-luna", "eighth-c/claude-haiku-5-5"]) {
      assert.ok(ids.includes(id), `${id} is not among ${ids}`);
    }
  }
  await simulators.close();
  await Deno.remove(directory, { recursive: true });
});

rows.register(service);

/** A prompt whose script has the vendor say its usual words. */
function request(vendor: DialectName, stream: boolean) {
  const { whole, begin, end } = vendorWords[vendor];
  const script = service().script((exchange) =>
    stream ? exchange.stream([...begin, ...end]) : exchange.answer(200, whole)
  );
  const model = `${scriptedLabel(vendor)}/${scriptedModel}`;
  return { model, prompt: `How are you? ${script}`, stream };
}

async function expectAnswer(
  answer: Response,
  caller: DialectName,
  vendor: DialectName,
  stream: boolean,
): Promise<void> {
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  assert.equal(answerText(caller, text, stream), spokenText);
  assert.ok(endsWell(caller, text, stream), text);
  if (stream && caller !== vendor) {
    const said = checkGrammar(caller, text);
    assert.deepEqual([said.ending, said.choices[0]!.finish], ["finished", "stop"]);
  }
  const received = service().vendor.requests.at(-1)!;
  assert.ok(received.path.startsWith(`/${vendor}/v9/`), received.path);
  assert.ok(JSON.stringify(received.headers).includes(vendorKeyOfX));
  const dollars = (10 * scriptedPrices.input + 5 * scriptedPrices.output) / 1e6;
  rows.expect(answer, `${caller} on ${vendor}, stream: ${stream}`, (row) => {
    assert.deepEqual(
      [row.vendor, row.model, row.status, row.input_tokens, row.output_tokens, row.cost_usd],
      [scriptedLabel(vendor), scriptedModel, "completed", 10, 5, dollars.toFixed(9)],
    );
  });
}
