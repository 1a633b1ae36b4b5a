import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { boundOfRequest, priceOf } from "../../../../../tests/support/operation_request.ts";
import { Fault } from "../../../../shared/fault.ts";
import { predict } from "./predict.ts";
import { forVendor, readOperation } from "../../../kernel/operation_request.ts";

const perImage = priceOf({ perImage: { "*": 40_000_000n } } as never);
const requestOf = (body: unknown, text = JSON.stringify(body)) =>
  readOperation({ body, text, model: "imagen-4.0-generate-001" }, predict);

Deno.test("tag lines of the prompt are read and cut; all else goes on as it is", () => {
  const text =
    '{"instances": [{"prompt":"/// APP shop\\nA red door."}], "parameters":{"seed": 1.0}}';
  const request = requestOf(JSON.parse(text), text);
  assert.deepEqual(request.tags, { app: "shop" });
  assert.equal(finish(forVendor(request, "x", predict)), text.replace("/// APP shop\\n", ""));
  const empty = { instances: [{ prompt: "/// APP shop" }] };
  assert.throws(() => requestOf(empty), /instances\[0\]\.prompt: there are only tag lines/);
});

Deno.test("set aside is what the vendor may draw: four where nobody says how many", () => {
  const counts = ([undefined, 2, "3", 0, "many", 1.5] as unknown[]).map((sampleCount) => {
    const bound = boundOfRequest(
      predict,
      requestOf({ instances: [{ prompt: "x" }], parameters: { sampleCount } }),
    );
    return bound.images![0]!.count;
  });
  assert.deepEqual(counts, [4, 2, 3, 4, 4, 4]);
  const two = boundOfRequest(
    predict,
    requestOf({ instances: [{}, {}], parameters: { imageSize: "2K" } }),
  );
  assert.deepEqual(two.images, [{ size: "2K", count: 8 }]);
});

Deno.test("charged are the pictures that came, not those withheld", () => {
  const picture = { bytesBase64Encoded: "A".repeat(40_000), mimeType: "image/png" };
  for (
    const [answer, count] of [
      [{ predictions: [picture, { raiFilteredReason: "no" }, picture] }, 2],
      [{}, 0],
    ] as const
  ) {
    const reader = predict.reader(requestOf({ instances: [{ prompt: "x" }] }));
    reader.whole(JSON.stringify(answer), "application/json");
    const priced = reader.outcome({ isComplete: true, price: perImage })!;
    assert.deepEqual(priced, {
      usage: { input: 0, output: 0, images: [{ size: "1K", count }] },
      basis: "reported",
    });
    const byToken = reader.outcome({ isComplete: true, price: undefined })!;
    assert.equal(byToken.basis, "estimated");
    assert.equal(byToken.usage.output > 0, count > 0);
  }
});

for (const text of ["", "null", "[]", '{"predictions":{}}']) {
  Deno.test(`'${text}' is no answer of pictures`, () => {
    const reader = predict.reader(requestOf({ instances: [{}] }));
    const isNone = (thrown: unknown) =>
      thrown instanceof Fault && thrown.code === "upstream_invalid_response";
    assert.throws(() => reader.whole(text, ""), isNone);
    assert.equal(reader.outcome({ isComplete: true, price: undefined }), undefined);
  });
}
