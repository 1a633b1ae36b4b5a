import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { eventOf, readerOf } from "../../../../tests/support/operation_request.ts";
import { Fault } from "../../../shared/fault.ts";
import {
  embeddingList,
  embeddings,
  inputTokens,
  readEmbeddingUsage,
  textInputs,
} from "./embeddings.ts";

const whole = { isComplete: true, price: undefined };
const body = { model: "m", input: ["one two three", "four"] };

Deno.test("the usage is read wherever it stands, and nothing else of the answer", () => {
  for (
    const text of [
      '{"data":[{"embedding":[1e-3,2]}],"usage":{"prompt_tokens":5,"total_tokens":5}}',
      '{"usage":{"total_tokens":5},"object":"list","data":[]}',
    ]
  ) {
    const [reader, parsed] = [readerOf(embeddings, body), readerOf(embeddings, body)];
    reader.whole(text, "application/json");
    parsed.json!(JSON.parse(text));
    for (const one of [reader, parsed]) {
      const { usage, basis } = one.outcome(whole)!;
      assert.deepEqual([usage.input, usage.output, basis], [5, 0, "reported"]);
    }
  }
});

for (const usage of ["null", "{}", "[]", '"5"', '{"prompt_tokens":null}']) {
  Deno.test(`with a usage of ${usage} the text is counted`, () => {
    const reader = readerOf(embeddings, body);
    reader.whole(`{"data":[],"usage":${usage}}`, "application/json");
    const { usage: counted, basis } = reader.outcome(whole)!;
    assert.deepEqual([counted.input, basis], [inputTokens(body.input), "estimated"]);
    assert.equal(readEmbeddingUsage(JSON.parse(usage)), undefined);
  });
}

Deno.test("a usage of no tokens is none, nor is a cost that isn't believed", () => {
  const basis = (usage: unknown, ignoresCost: boolean) => {
    const reader = readerOf(embeddings, body);
    reader.whole(JSON.stringify({ data: [], usage }), "application/json");
    return reader.outcome({ ...whole, ignoresCost })!.basis;
  };
  assert.equal(basis({ prompt_tokens: 0, total_tokens: 0 }, false), "estimated");
  assert.equal(basis({ prompt_tokens: 0, cost: 0.01 }, false), "reported");
  assert.equal(basis({ prompt_tokens: 0, cost: "0.01" }, false), "reported");
  assert.equal(basis({ prompt_tokens: 0, cost: 0.01 }, true), "estimated");
  for (const cost of [-1, "free", "1e400", {}]) {
    assert.equal(basis({ prompt_tokens: 0, cost }, false), "estimated");
  }
});

Deno.test("token numbers are counted as they are, in lists and in lists of lists", () => {
  assert.equal(inputTokens([1, 2, 3]), 3);
  assert.equal(inputTokens([[1, 2], [3]]), 3);
  assert.equal(inputTokens(null), 0);
});

for (const text of ["", "{", "null", "[]", "{}", '{"data":null}', '{"data":"x"}', '{"error":{}}']) {
  Deno.test(`'${text}' is no answer`, () => {
    const reader = readerOf(embeddings, body);
    const isNone = (thrown: unknown) =>
      thrown instanceof Fault && thrown.code === "upstream_invalid_response";
    assert.throws(() => reader.whole(text, "application/json"), isNone);
    assert.throws(() => reader.bytes(new Uint8Array(1), "application/octet-stream"), isNone);
    assert.deepEqual(reader.event(eventOf("{}")), {});
    assert.equal(reader.outcome(whole), undefined);
  });
}

Deno.test("vectors are written as numbers, or as their 32-bit floats in base64", () => {
  const vectors = [[0.5, -2], [3, 0.1]];
  const list = (asBase64: boolean) =>
    finish(embeddingList(vectors, { model: "m", tokens: 4, asBase64 })) as {
      data: { embedding: unknown; index: number }[];
      usage: unknown;
    };
  assert.deepEqual(list(false).data.map(({ embedding }) => embedding), vectors);
  assert.deepEqual(list(false).usage, { prompt_tokens: 4, total_tokens: 4 });
  const packed = list(true).data.map((
    { embedding },
  ) => [...new Float32Array(Uint8Array.fromBase64(String(embedding)).buffer)]);
  assert.deepEqual(packed, vectors.map((vector) => [...Float32Array.from(vector)]));
});

Deno.test("what vendors take that are asked in batches: up to 2,048 texts, no token numbers", () => {
  assert.deepEqual(textInputs("one"), ["one"]);
  assert.deepEqual(textInputs(["one", "two"]), ["one", "two"]);
  assert.throws(() => textInputs([1, 2]), /accepts text only/);
  assert.throws(() => textInputs(Array(2049).fill("x")), /at most 2048 texts/);
});
