import assert from "@std/assert";
import { staysAddress } from "./media.ts";

Deno.test("the vendor's own files and videos stay addresses", () => {
  for (
    const address of [
      "https://www.youtube.com/watch?v=1",
      "https://youtu.be/1",
      "https://generativelanguage.googleapis.com/v1beta/files/x",
      "gs://bucket/x",
    ]
  ) assert.equal(staysAddress(address), true, address);
});

Deno.test("what looks like one and is none has to be fetched like any other", () => {
  for (
    const address of [
      "https://generativelanguage.googleapis.com.evil.example/files/x",
      "https://evil.example/?https://youtu.be/1",
      "https://www.youtube.com.evil.example/",
      "http://www.youtube.com/watch?v=1",
      "ftp://a.example/x",
      "picture.png",
    ]
  ) assert.equal(staysAddress(address), false, address);
});
