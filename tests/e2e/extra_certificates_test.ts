import assert from "@std/assert";
import { anyDatabase } from "../support/any_database.ts";
import { startBucket } from "../support/bucket.ts";
import { runProgram, startService } from "../support/process.ts";
import { certificateFiles, testCertificate } from "../support/service_certificate.ts";
import { temporaryDirectory } from "../support/service_files.ts";

Deno.test("NODE_EXTRA_CA_CERTS: the health command and bucket exports work over TLS", async () => {
  const directory = temporaryDirectory("certificates");
  const files = await certificateFiles(directory);
  await using database = await anyDatabase();
  await using bucket = await startBucket({ tls: true });
  using client = Deno.createHttpClient({ caCerts: [testCertificate] });
  const env = {
    ...{ ...files, ...bucket.env, ...database.env, DATA_DIR: `${directory}/data` },
    NODE_EXTRA_CA_CERTS: files.TLS_CERT_FILE,
  };
  await using service = await startService({ env, client });
  const health = await runProgram({ script: "admin.ts", args: ["health"], env });
  assert.deepEqual([health.stdout, health.code], [`ready at ${service.baseUrl}\n`, 0]);
  const answer = await fetch(`${service.baseUrl}/api/v1/exports`, {
    method: "POST",
    client,
    headers: { authorization: `Bearer ${service.firstKey}`, "content-type": "application/json" },
    body: JSON.stringify({ start_date: "2026-01-01T00:00:00Z" }),
  });
  assert.equal(answer.status, 200, await answer.text() + service.output());
  assert.equal((await bucket.keys()).length, 1);
});
