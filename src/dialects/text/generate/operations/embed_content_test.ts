import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { readBatch } from "./embeddings.ts";
import { Fault } from "../../../../shared/fault.ts";
import { estimateTokens } from "../../../../shared/token_estimate.ts";
import { batchEmbedContents, embedContent } from "./embed_content.ts";
import { forVendor, readOperation } from "../../../kernel/operation_request.ts";

const whole = { isComplete: true, price: undefined };
const one = (text: string, rest = {}) => ({ content: { parts: [{ text }] }, ...rest });

function requestOf(body: unknown, model: string, text = JSON.stringify(body)) {
  return readOperation({ body, text, model }, batchEmbedContents);
}

Deno.test("a request goes on byte for byte where it names no model or the vendor's own", () => {
  for (
    const text of [
      '{ "requests" : [ {"content":{"parts":[{"text":"a"}]},"n":1.0} ] }',
      '{"requests":[{"model":"models/m","content":{}}]}',
    ]
  ) {
    const request = requestOf(JSON.parse(text), "m", text);
    assert.equal(finish(forVendor(request, "m", batchEmbedContents)), text);
  }
});

Deno.test("the service's name of the model becomes the vendor's wherever the body has it", () => {
  const body = { requests: [one("a", { model: "models/google/m" }), one("b"), { model: "m" }] };
  const sent = finish(forVendor(requestOf(body, "google/m"), "m", batchEmbedContents));
  assert.deepEqual(JSON.parse(sent as string), {
    requests: [one("a", { model: "models/m" }), one("b"), { model: "models/m" }],
  });
  const single = requestOf(one("a", { model: "google/m" }), "google/m");
  assert.deepEqual(
    JSON.parse(finish(forVendor(single, "m", embedContent)) as string),
    one("a", { model: "models/m" }),
  );
});

Deno.test("another model than the path's is refused by the place where it stands", () => {
  const isRefused = (param: string) => (thrown: unknown) =>
    thrown instanceof Fault && thrown.code === "invalid_value" && thrown.param === param;
  const batch = requestOf({ requests: [one("a"), one("b", { model: "models/other" })] }, "m");
  assert.throws(
    () => finish(forVendor(batch, "m", batchEmbedContents)),
    isRefused("requests[1].model"),
  );
  const single = requestOf(one("a", { model: "models/other" }), "m");
  assert.throws(() => finish(forVendor(single, "m", embedContent)), isRefused("model"));
});

Deno.test("tokens are the vendor's where it counts, else those of the text", () => {
  const counted = embedContent.reader(requestOf(one("a red door"), "m"));
  counted.whole('{"embedding":{"values":[1]},"usageMetadata":{"promptTokenCount":4}}', "");
  const { usage, basis } = counted.outcome(whole)!;
  assert.deepEqual([usage.input, usage.output, basis], [4, 0, "reported"]);
  const texts = ["a red door", "https://example.com/green"];
  const batch = batchEmbedContents.reader(requestOf({ requests: texts.map((t) => one(t)) }, "m"));
  const embeddings = [{ values: [1] }, { values: [2] }];
  for (const usageMetadata of [undefined, { promptTokenCount: 0 }]) {
    batch.whole(JSON.stringify({ embeddings, usageMetadata }), "");
    assert.deepEqual(batch.outcome(whole), {
      usage: { input: texts.reduce((sum, text) => sum + estimateTokens(text), 0), output: 0 },
      basis: "estimated",
    });
  }
  assert.equal(readBatch({ embeddings, usageMetadata: { promptTokenCount: 0 } }).tokens, undefined);
});

Deno.test("images and sound that the vendor doesn't count are estimated, and not free", () => {
  const usageOf = (part: Record<string, unknown>) => {
    const reader = embedContent.reader(requestOf({ content: { parts: [part] } }, "m"));
    reader.whole('{"embedding":{"values":[1]}}', "");
    return reader.outcome(whole)!.usage;
  };
  const picture = { mimeType: "image/png", data: `iVBORw0KGgo${"A".repeat(2000)}` };
  const words = { mimeType: "text/plain", data: btoa("A red door. ".repeat(100)) };
  const sound = { mimeType: "audio/mpeg", data: `//uQ${"A".repeat(85_330)}` };
  assert.deepEqual(usageOf({ inlineData: picture }), { input: 1024, output: 0 });
  assert.deepEqual(usageOf({ inlineData: words }), { input: 300, output: 0 });
  // A hundred tokens, of four seconds.
  assert.deepEqual(usageOf({ inline_data: sound }), { input: 101, audioInput: 101, output: 0 });
});

for (const text of ["", "null", "[]", "{}", '{"embeddings":{}}', '{"embedding":[]}']) {
  Deno.test(`'${text}' is no answer of vectors`, () => {
    for (const operation of [embedContent, batchEmbedContents]) {
      const reader = operation.reader(requestOf({ requests: [] }, "m"));
      assert.throws(() => reader.whole(text, ""), isNone);
      assert.throws(() => reader.bytes(new Uint8Array(1), ""), isNone);
      assert.equal(reader.outcome(whole), undefined);
    }
  });
}

function isNone(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "upstream_invalid_response";
}

Deno.test("the models of many contents are replaced in steps", () => {
  const requests = Array(1_000).fill(one("a", { model: "models/google/m" }));
  const sent = requestOf({ requests }, "google/m");
  assert.ok([...forVendor(sent, "m", batchEmbedContents)].length >= 1_000);
});
