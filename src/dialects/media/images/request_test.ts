import assert from "@std/assert";
import { Fault } from "../../../shared/fault.ts";
import { readImageRequest } from "./request.ts";

const picture = "A".repeat(16);
const target = { model: "m", options: {} };
const body = (address: string) => ({ model: "m", prompt: "A boat", images: [address] });

Deno.test("the type of a picture can't bring lines of its own into a vendor's form", () => {
  const wrong = [
    "image/x\r\n\r\nevil",
    "image/x\nContent-Disposition: form-data",
    'image/x"',
    "image/",
    "text/plain",
  ];
  for (const type of wrong) {
    assert.throws(
      () => readImageRequest(body(`data:${type};base64,${picture}`), target),
      (thrown: unknown) => thrown instanceof Fault && thrown.param === "images[0]",
      type,
    );
  }
  const { references } = readImageRequest(body(`data:image/svg+xml;base64,${picture}`), target);
  assert.deepEqual(references, [{ type: "base64", mimeType: "image/svg+xml", data: picture }]);
});
