import assert from "node:assert/strict";
import { errors } from "./errors.ts";

Deno.test("an error that breaks a stream off asks for a retry in words that agents look for", () => {
  // opencode repeats a call for an error within a chat stream only if its text has such words.
  for (const code of ["upstream_stream_truncated", "upstream_timeout"] as const) {
    assert.match(errors[code].message, /try your request again|retry your request/i);
  }
});
