import assert from "@std/assert";
import { Fault } from "../../shared/fault.ts";
import { asRatio, type Resolution, resolutionOf } from "./picture_shape.ts";

const model = { ratios: ["1:1", "3:4", "4:3", "9:16", "16:9"], resolutions: ["1K", "2K"] } as const;
const nothing = { size: undefined, ratio: undefined, resolution: undefined };

Deno.test("a size becomes the ratio within two percent and the nearest resolution", () => {
  const cases: [[number, number], string, Resolution][] = [
    [[1024, 1024], "1:1", "1K"],
    [[1280, 720], "16:9", "1K"],
    [[1344, 768], "16:9", "1K"],
    [[2048, 2048], "1:1", "2K"],
    [[1920, 1080], "16:9", "1K"],
    [[2560, 1440], "16:9", "2K"],
  ];
  for (const [[width, height], ratio, resolution] of cases) {
    const got = asRatio({ ...nothing, size: { width, height } }, model);
    assert.deepEqual(got, { ratio, resolution }, `${width}x${height}`);
  }
});

Deno.test("what has no ratio within two percent is refused with the list", () => {
  assert.throws(
    () => asRatio({ ...nothing, size: { width: 1536, height: 1024 } }, model),
    (fault: unknown) =>
      fault instanceof Fault && fault.code === "invalid_value" && fault.param === "size" &&
      model.ratios.every((one) => fault.message.includes(one)),
  );
  assert.throws(
    () => asRatio({ ...nothing, ratio: "21:9" }, model),
    (fault: unknown) => fault instanceof Fault && fault.param === "aspect_ratio",
  );
  assert.throws(
    () => asRatio({ ...nothing, resolution: "4K" }, model),
    (fault: unknown) =>
      fault instanceof Fault && fault.param === "resolution" && /1K, 2K/.test(fault.message),
  );
});

Deno.test("a vendor with one resolution doesn't get it", () => {
  const got = asRatio({ ...nothing, resolution: "1K" }, { ...model, resolutions: ["1K"] });
  assert.deepEqual(got, { ratio: undefined, resolution: undefined });
});

Deno.test("a resolution is derived from the number of pixels", () => {
  assert.equal(resolutionOf({ width: 1024, height: 1024 }), "1K");
  assert.equal(resolutionOf({ width: 2048, height: 2048 }), "2K");
  assert.equal(resolutionOf({ width: 3840, height: 2160 }), "2K");
  assert.equal(resolutionOf({ width: 4096, height: 4096 }), "4K");
});
