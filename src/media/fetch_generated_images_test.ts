import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import type { PublicFetch } from "../vendors/public_fetch.ts";
import { fetchGeneratedImages } from "./fetch_generated_images.ts";

const caller = { key: "1", signal: new AbortController().signal };
const bytes = new TextEncoder().encode("picture");
const fetch: PublicFetch = {
  fetch: (url) =>
    url.endsWith("/there")
      ? Promise.resolve({ bytes, mimeType: "image/png" })
      : url.endsWith("/empty")
      ? Promise.resolve({ bytes: new Uint8Array(), mimeType: "image/png" })
      : Promise.reject(new Fault("invalid_value", { message: "the URL answered 404" })),
};
const there = { url: "https://vendor.example/there", revisedPrompt: "A boat" };
const empty = { url: "https://vendor.example/empty" };
const gone = { url: "https://vendor.example/gone" };

Deno.test("pictures that a vendor gave by address are fetched and keep their order", async () => {
  const images = await fetchGeneratedImages([{ data: "aGk=" }, there], {
    fetch,
    caller,
    asAddress: false,
  });
  assert.deepEqual(images, [{ data: "aGk=" }, { bytes, revisedPrompt: "A boat" }]);
});

Deno.test("one that can't be fetched stays an address for who wants addresses, else it fails", async () => {
  for (const one of [gone, empty]) {
    assert.deepEqual(await fetchGeneratedImages([one], { fetch, caller, asAddress: true }), [one]);
    await assert.rejects(
      fetchGeneratedImages([one], { fetch, caller, asAddress: false }),
      (fault: unknown) => fault instanceof Fault && fault.code === "upstream_invalid_response",
    );
  }
});

Deno.test("of endless addresses a few are fetched, and no more bytes than an answer may have", async () => {
  const mebibyte = 1024 * 1024;
  for (const [size, most] of [[1, 32], [15 * mebibyte, 4], [18 * mebibyte, 4]] as const) {
    let asked = 0;
    const large: PublicFetch = {
      fetch(_url, { maxBytes }) {
        asked++;
        return size > maxBytes
          ? Promise.reject(new Fault("invalid_value", { message: "the URL returned more" }))
          : Promise.resolve({ bytes: new Uint8Array(size), mimeType: "image/png" });
      },
    };
    const images = await fetchGeneratedImages(Array(1_000).fill(there), {
      ...{ fetch: large, caller, asAddress: true },
    });
    assert.equal(images.length, 1_000, "the others stay addresses");
    assert.equal(images.filter(({ bytes }) => bytes !== undefined).length, most);
    assert.ok(asked <= 32);
  }
});
