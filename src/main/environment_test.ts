import assert from "@std/assert";
import { parseConfig } from "./config.ts";

Deno.test("quotes around a value are refused: no shell has removed them", () => {
  const quoted = {
    DATA_DIR: '"/srv/data"',
    BASE_URL: '"https://gateway.example.com"',
    METRICS_TOKEN: "'token'",
    OPENAI_API_KEY: "'sk-one,sk-two'",
    OAUTH_CLIENT_SECRET: '"secret"',
  };
  for (const [name, value] of Object.entries(quoted)) {
    const refusal = `${name} is not valid: expected a value without quotes around it.`;
    assert.throws(() => parseConfig({ [name]: value }), { name: "ConfigError", message: refusal });
  }
  assert.equal(parseConfig({ DATA_DIR: "/srv/Ann's data" }).dataDir, "/srv/Ann's data");
});
