import assert from "@std/assert";
import { pictureFacts } from "../../src/base/picture_facts.ts";
import { picture, sound } from "../../demo/simulator/samples/mod.ts";
import { mediaToolsAreThere, openPicture, openSound } from "../support/media_tools.ts";

const ignore = !mediaToolsAreThere();

Deno.test({
  name: "sample pictures open, and their headers are read as programs read them",
  ignore,
  async fn() {
    const sizes = [[1, 1], [1024, 1024], [1536, 1024], [768, 1408]] as const;
    for (const format of ["png", "jpeg", "webp"] as const) {
      for (const [width, height] of sizes) {
        const bytes = picture({ format, width, height, subject: "a lighthouse" });
        const report = await openPicture(bytes);
        assert.deepEqual([report.format, report.width, report.height], [
          format.toUpperCase(),
          width,
          height,
        ]);
        const facts = pictureFacts(bytes);
        assert.deepEqual(facts, { mimeType: `image/${format}`, width, height });
      }
    }
  },
});

Deno.test("a picture's header is read in front of a large preview, and cut ones aren't", () => {
  const jpeg = picture({ format: "jpeg", width: 640, height: 480, subject: "x" });
  const comment = new Uint8Array(60_000);
  comment.set([0xff, 0xfe, 0xea, 0x5e]);
  const size = 2 + 0xea5e;
  const padded = new Uint8Array([
    ...jpeg.subarray(0, 2),
    ...comment.subarray(0, size),
    ...jpeg.subarray(2),
  ]);
  assert.equal(pictureFacts(padded)?.width, 640);
  for (const format of ["png", "jpeg", "webp"] as const) {
    const bytes = picture({ format, width: 640, height: 480, subject: "x" });
    for (let length = 0; length < 20; length++) {
      assert.equal(pictureFacts(bytes.subarray(0, length)), undefined, `${format} ${length}`);
    }
  }
  assert.equal(
    pictureFacts(new TextEncoder().encode("no picture at all, only words here")),
    undefined,
  );
  const gif = Uint8Array.of(0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 2, 1, 3, 0, 0, 0, 0);
  assert.deepEqual(pictureFacts(gif), { mimeType: "image/gif", width: 258, height: 3 });
});

Deno.test({
  name: "sample sounds open and last as long as they should",
  ignore,
  async fn() {
    const codecs = {
      mp3: "mp3",
      opus: "opus",
      aac: "aac",
      flac: "flac",
      wav: "pcm_s16le",
    } as const;
    for (const [format, codec] of Object.entries(codecs)) {
      const bytes = sound(format as keyof typeof codecs, 3, "hello");
      const report = await openSound(bytes);
      assert.equal(report.codec, codec);
      assert.equal(report.channels, 1);
      assert(Math.abs(report.seconds - 3) < 0.05, `${format} lasts ${report.seconds} s`);
    }
  },
});
