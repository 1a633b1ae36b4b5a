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

Deno.test("an empty variable counts as not set", () => {
  const names = [
    "PORT",
    "DATABASE_URL",
    "MASTER_KEY",
    "TLS_CERT_FILE",
    "TRUST_PROXY",
    "OAUTH_ISSUER",
  ];
  const config = parseConfig(Object.fromEntries(names.map((name) => [name, "  "])));
  assert.equal(config.port, 8787);
  assert.equal(config.databaseUrl, undefined);
});

Deno.test("misspelt variables are found with what they misspell, others' are left alone", () => {
  const others = {
    ...{ PATH: "/bin", HOME: "/root", HOSTNAME: "x", OTHER_API_KEY: "x", DATABASE: "x" },
    ...{
      XDG_DATA_DIRS: "x",
      SSL_CERT_FILE: "x",
      GITHUB_TOKEN: "x",
      PORTS: "1",
      ...{ API_KEY: "x", HTTP_PROXY: "x", EDITOR: "vi", PGPORT: "5432", JOURNAL_STREAM: "9:1" },
      ...{ DEMETER_SERVICE_HOST: "10.0.0.1", DEMETER_PORT_8787_TCP_ADDR: "10.0.0.1" },
      VENDOR_C_API_KEY: "",
      SHLVL: "1",
    },
  };
  const { unknownVariables, secretFrom } = parseConfig({
    ...others,
    ...{ VENDOR_B_APIKEY: "k", OAUTH_ISUER: "https://x", DATABSE_URL: "x", RETENTION_DAYS: "1" },
    ...{ VENDOR_ACME_API_KEY: "k", OPENAI_APIKEY: "k", ANTHROPIC_KEY: "k", VENDOR_B_KEY: "k" },
    ...{ WORKER: "4", TLS_CERT: "x", OAUTH_SECRET: "x", MAX_BYTES: "1" },
  });
  // The row of a vendor asks for its own variable.
  secretFrom("VENDOR_ACME_API_KEY");
  assert.deepEqual(unknownVariables().map(({ name, nearest }) => `${name} ${nearest}`), [
    "ANTHROPIC_KEY ANTHROPIC_API_KEY",
    "DATABSE_URL DATABASE_URL",
    "MAX_BYTES MAX_BODY_BYTES",
    "OAUTH_ISUER OAUTH_ISSUER",
    "OAUTH_SECRET OAUTH_CLIENT_SECRET",
    "OPENAI_APIKEY OPENAI_API_KEY",
    "RETENTION_DAYS RETENTION_PAYLOAD_DAYS",
    "TLS_CERT TLS_CERT_FILE",
    "VENDOR_B_APIKEY VENDOR_B_API_KEY",
    "VENDOR_B_KEY VENDOR_B_API_KEY",
    "WORKER WORKERS",
  ]);
});
