import assert from "@std/assert";
import { parseConfig } from "./config.ts";

Deno.test("quotes around a directory or a key are refused: no shell has removed them", () => {
  assert.throws(
    () => parseConfig({ DATA_DIR: '"/srv/data"' }),
    /^ConfigError: DATA_DIR="\/srv\/data" is not valid: expected a value without quotes around it\.$/,
  );
  for (const key of ['"sk-one"', "'sk-one,sk-two'"]) {
    assert.throws(
      () => parseConfig({ OPENAI_API_KEY: key }),
      /^ConfigError: OPENAI_API_KEY=\*{4} is not valid: expected a value without quotes around it\.$/,
    );
  }
  assert.equal(parseConfig({ DATA_DIR: "/srv/Ann's data" }).dataDir, "/srv/Ann's data");
});
