import assert from "@std/assert";
import { startSimulators } from "../../demo/simulators.ts";
import { runAdminHere } from "../support/admin.ts";
import { anyDatabase } from "../support/any_database.ts";
import { freePort } from "../support/free_port.ts";
import { startService } from "../support/process.ts";
import { calls, startTestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";

const directory = temporaryDirectory("first-start");

const curlIsThere = await succeeds("curl", ["--version"]);
const skipped = curlIsThere ? "" : " (skipped: curl is not installed)";

Deno.test({
  name:
    `the first start prints a key once, and a curl line that calls a model when pasted${skipped}`,
  ignore: !curlIsThere,
  async fn() {
    const simulators = await startSimulators();
    const { baseUrl, apiKey } = simulators.vendors["vendor-b"];
    const env = {
      DATA_DIR: `${directory}/with-vendor`,
      PORT: String(freePort()),
      VENDOR_B_BASE_URL: baseUrl,
      VENDOR_B_API_KEY: apiKey,
    };
    // From the sources a first start is that of the demo (`first_hour_test.ts`).
    const first = await startService({ env, migrates: true });
    await first.printed(/curl .*\n/);
    const greeting = first.output();
    const key = first.firstKey;
    assert.equal(greeting.split(/API key +dmt_/).length, 2, "once as the key");
    assert.ok(greeting.includes(`Base URL  ${first.baseUrl}\n`));
    const line = /^ *(curl .*)$/m.exec(greeting)?.[1] ?? "";
    assert.ok(line.includes(key));
    assert.ok(!greeting.includes(apiKey));
    await answersOfVendor(line);
    assert.equal(await first.stop(), 0);
    // After a restart the key still works, and isn't printed again.
    const second = await startTestService({ env });
    assert.equal(second.baseUrl, first.baseUrl);
    await answersOfVendor(line);
    await second.stop();
    assert.doesNotMatch(second.greeting.join("\n"), /dmt_/);
    assert.match(second.greeting.join("\n"), /listens on http:\/\/127\.0\.0\.1:\d+/);
    assert.equal(simulators.requests("vendor-b").length, 2);
    await simulators.close();
  },
});

async function answersOfVendor(line: string): Promise<void> {
  const { code, stdout } = await shell(`${line} -s -w ' %{http_code}'`);
  assert.equal(code, 0);
  const [, body = "", status] = /^(.*) (\d{3})$/s.exec(stdout) ?? [];
  assert.equal(status, "200", body);
  const answer = JSON.parse(body);
  assert.equal(answer.object, "chat.completion");
  assert.match(answer.choices[0].message.content, /Say hello/);
  assert.equal(answer.system_fingerprint, "fp_simulated01", "it is the vendor's own answer");
}

Deno.test({
  name:
    `without a vendor key the printed line answers 200 from status, and the next step is named${skipped}`,
  ignore: !curlIsThere,
  async fn() {
    await using database = await anyDatabase();
    await using service = await startService({ env: database.env });
    await service.printed(/Next: [^\n]*\n[^\n]*\n/);
    const greeting = service.output();
    const line = /^ *(curl .*)$/m.exec(greeting)?.[1] ?? "";
    assert.ok(line.includes("/api/v1/status"));
    const { stdout } = await shell(`${line} -s -w ' %{http_code}'`);
    const [, body = "", status] = /^(.*) (\d{3})$/s.exec(stdout) ?? [];
    assert.deepEqual([status, JSON.parse(body).status], ["200", "ok"]);
    assert.match(greeting, /Next: .*VENDOR_B_API_KEY=.*\n.*task demo/);
    assert.equal(await service.stop(), 0);
  },
});

Deno.test("a killed service starts again on its data, and its rows and keys are there", async () => {
  const simulators = await startSimulators();
  const { baseUrl, apiKey } = simulators.vendors["vendor-b"];
  const env = {
    DATA_DIR: `${directory}/killed`,
    VENDOR_B_BASE_URL: baseUrl,
    VENDOR_B_API_KEY: apiKey,
  };
  await using first = await startService({ env });
  const key = first.firstKey;
  const transaction = await call(first.baseUrl, key);
  assert.deepEqual(await rows(first.baseUrl, key), [transaction]);
  first.kill("SIGKILL");
  assert.equal((await first.status).signal, "SIGKILL");
  await using second = await startTestService({ env });
  assert.deepEqual(await rows(second.baseUrl, key), [transaction]);
  const more = await call(second.baseUrl, key);
  assert.deepEqual(await rows(second.baseUrl, key), [transaction, more]);
  assert.deepEqual(second.key, "", "it is not printed again");
  // What the killed server left behind reaches nobody: commands go to the one that lives.
  const listed = await runAdminHere({ args: ["key", "list", "--json"], env });
  assert.equal(listed.code, 0, listed.stderr);
  assert.equal(JSON.parse(listed.stdout).length, 1);
  await second.stop();
  await simulators.close();
});

/** One call; gives its transaction's id. */
async function call(baseUrl: string, key: string): Promise<string> {
  const answer = await fetch(`${baseUrl}/openai/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "gpt-4.1", messages: [{ role: "user", content: "Hello" }] }),
  });
  assert.equal(answer.status, 200, await answer.text());
  return answer.headers.get("x-transaction-id") ?? "";
}

async function rows(baseUrl: string, key: string): Promise<string[]> {
  const all = await calls({ baseUrl, key }).rows();
  return all.map((row) => String(row.transaction_id));
}

/** Runs a line as a person's shell would, with nothing of ours in its environment. */
async function shell(line: string): Promise<{ code: number; stdout: string }> {
  const { code, stdout } = await new Deno.Command("sh", {
    args: ["-c", line],
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin", NO_PROXY: "*" },
  }).output();
  return { code, stdout: new TextDecoder().decode(stdout) };
}

async function succeeds(program: string, args: string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(program, { args, stdout: "null" }).output();
    return success;
  } catch {
    return false;
  }
}
