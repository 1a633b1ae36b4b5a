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
      : Promise.reject(new Fault("invalid_value", { message: "the URL answered 404" })),
};
const there = { url: "https://vendor.example/there", revisedPrompt: "A boat" };
const gone = { url: "https://vendor.example/gone" };

Deno.test("pictures that a vendor gave by address are fetched and keep their order", async () => {
  const images = await fetchGeneratedImages([{ data: "aGk=" }, there], {
    fetch,
    caller,
    asAddress: false,
  });
  assert.deepEqual(images, [{ data: "aGk=" }, { data: btoa("picture"), revisedPrompt: "A boat" }]);
});

Deno.test("one that can't be fetched stays an address for who wants addresses, else it fails", async () => {
  assert.deepEqual(await fetchGeneratedImages([gone], { fetch, caller, asAddress: true }), [gone]);
  await assert.rejects(
    fetchGeneratedImages([gone], { fetch, caller, asAddress: false }),
    (fault: unknown) => fault instanceof Fault && fault.code === "upstream_invalid_response",
  );
});
