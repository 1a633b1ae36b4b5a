import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { shared } from "../support/service.ts";
import { checkGrammar } from "./grammar.ts";
import { librariesAt, libraryNames } from "./libraries.ts";
import { answerText, dialectNames, endsWell, rawRequest } from "./raw_calls.ts";
import { scriptedLabel, scriptedModel, startScriptedVendors } from "./scripted_vendors.ts";
import { spokenText, vendorWords } from "./vendor_words.ts";

const service = shared(() => startScriptedVendors({ KEEP_ALIVE_MS: "50" }));

const model = (vendor: DialectName) => `${scriptedLabel(vendor)}/${scriptedModel}`;

/** Silent before the answer begins, and again in the middle of it. */
function haltingly(vendor: DialectName): string {
  const { begin, end } = vendorWords[vendor];
  return service().script(async (exchange: FakeExchange) => {
    await exchange.head(200, { "content-type": "text/event-stream" });
    await silence();
    for (const event of begin) await exchange.write(event);
    await silence();
    for (const event of end) await exchange.write(event);
    await exchange.end();
  });
}

/** The others of the dialects, all at once: they only wait. */
function withOthers(
  than: DialectName,
  check: (vendor: DialectName) => Promise<void>,
): Promise<unknown> {
  return Promise.all(dialectNames.filter((one) => one !== than).map(check));
}

for (const caller of dialectNames) {
  Deno.test(`a silent vendor keeps no ${caller} caller without a word`, async () => {
    await withOthers(caller, async (vendor) => {
      const { path, body } = rawRequest(caller, {
        model: model(vendor),
        prompt: `How are you? ${haltingly(vendor)}`,
        stream: true,
      });
      const text = await (await service().post(path, body)).text();
      const before = /^(: keep-alive\n\n)*/.exec(text)![0];
      assert.ok(before.length >= 2 * ": keep-alive\n\n".length, text);
      const ping = 'event: ping\ndata: {"type":"ping"}\n\n';
      const nothing = caller === "messages" ? ping : ": keep-alive\n\n";
      assert.ok(text.slice(before.length).includes(nothing.repeat(2)), text);
      assert.equal(checkGrammar(caller, text).ending, "finished");
      assert.equal(answerText(caller, text, true), spokenText);
      assert.ok(endsWell(caller, text, true));
    });
  });
}

Deno.test("a silent vendor keeps no caller of a JSON array without a byte", async () => {
  const { path, body } = rawRequest("generate", {
    model: model("chat"),
    prompt: `How are you? ${haltingly("chat")}`,
    stream: true,
  });
  const text = await (await service().post(path.replace("?alt=sse", ""), body)).text();
  assert.match(text, /^(\r\n){2,}\[\{[^]*\}(\r\n){2,},/);
  assert.ok(JSON.parse(text).length > 1);
});

Deno.test("where both sides speak the same dialect silence is the vendor's own", async () => {
  for (const dialect of dialectNames) {
    const { path, body } = rawRequest(dialect, {
      model: model(dialect),
      prompt: `How are you? ${haltingly(dialect)}`,
      stream: true,
    });
    const text = await (await service().post(path, body)).text();
    assert.doesNotMatch(text, /keep-alive|ping/);
  }
});

for (const [index, name] of libraryNames.entries()) {
  Deno.test(`${name} passes over what is sent in a vendor's silence`, async () => {
    const { baseUrl: url, key } = service();
    const library = librariesAt({ url, key })[index]!;
    await withOthers(library.dialect, async (vendor) => {
      const told = await library.stream(model(vendor), `How are you? ${haltingly(vendor)}`);
      assert.deepEqual([told.text, told.ended], [spokenText, true], vendor);
    });
  });
}

Deno.test("a vendor that fails after a silence ends the stream that had to begin without it", async () => {
  const { path, body } = rawRequest("messages", {
    model: model("chat"),
    prompt: `How are you? ${
      service().script(async (exchange) => {
        await exchange.head(200, { "content-type": "text/event-stream" });
        await silence();
        await exchange.write(vendorWords.chat.error);
        await exchange.end();
      })
    }`,
    stream: true,
  });
  const answer = await service().post(path, body);
  const text = await answer.text();
  assert.equal(answer.status, 200);
  assert.equal(checkGrammar("messages", text).ending, "failed");
  const row = await service().row(answer.headers.get("x-transaction-id"));
  assert.deepEqual([row.status, row.http_status, row.finish_reason], ["failed", 200, null]);
});

/**
 * Several times as long as a caller's connection is left without a word. In steps: one that comes
 * late, since the process stood still, is followed by others.
 */
async function silence(): Promise<void> {
  for (let step = 0; step < 4; step++) await new Promise((resolve) => setTimeout(resolve, 55));
}
