/** A crowd of silent connections, more than this process may have descriptors. */
import assert from "@std/assert";
import { startEchoVendor } from "../support/echo_vendor.ts";
import { commandOf, type ServiceProcess, startService } from "../support/process.ts";

/** The first is found out by a start, the second is learned when it is met. */
const descriptorLimits = [256, 2300];

for (const descriptors of descriptorLimits) {
  Deno.test(`a crowd beyond ${descriptors} descriptors: callers go on, and it answers when they left`, async () => {
    await using vendor = await startEchoVendor();
    const start = commandOf({}, Deno.env.get("TEST_BUNDLE"));
    await using service = await startService({
      executable: "/bin/sh",
      migrates: false,
      args: ["-c", `ulimit -n ${descriptors}; exec "$0" "$@"`, Deno.execPath(), ...start.args],
      env: {
        ...start.env,
        VENDOR_F_BASE_URL: `${vendor.url}/v1`,
        JOURNAL_SYNC: "interval",
        CONNECTIONS_PER_PEER_MAX: "100000",
      },
    });
    const release = vendor.hold("patient");
    const begun = call(service, { stream: true, user: "patient" });
    begun.catch(() => {});
    await until(() => vendor.requests.length > 0, 60_000, "call at the vendor");
    const crowd = await gather(service, descriptors + 200);
    for (let times = 0; times < 10; times++) {
      await alive(service, "while they stand");
      await new Promise((resolve) => setTimeout(resolve, 200));
      crowd.push(...await gather(service, 20));
    }
    assert.match(await call(service, {}), /You said hello/, "journal and vendor have descriptors");
    release();
    assert.match(await begun, /hello.*\[DONE\]/s, "a call that was under way goes on");
    for (const one of crowd) one.close();
    await alive(service, "when they left");
    assert.match(await call(service, {}), /You said hello/);
    await until(
      () => /reason=(made_room|full|slow_head)/.test(service.output()),
      60_000,
      "line in the log",
    );
    assert.doesNotMatch(service.output(), /Uncaught/);
    assert.equal(await service.stop(), 0);
  });
}

/** Connections that say nothing. */
async function gather(service: ServiceProcess, many: number): Promise<Deno.Conn[]> {
  const port = Number(new URL(service.baseUrl).port);
  const opened = await Promise.all(
    Array.from({ length: many }, () => Deno.connect({ hostname: "127.0.0.1", port }).catch(none)),
  );
  return opened.filter((one) => one !== undefined);
}

function none(): undefined {}

/** A new connection is answered within seconds. */
async function alive(service: ServiceProcess, when: string): Promise<void> {
  const isAlive = async () => {
    const asked = fetch(`${service.baseUrl}/livez`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(5_000),
    });
    return await asked.then(async (answer) => {
      await answer.body?.cancel();
      return answer.status === 200;
    }, () => false);
  };
  await until(isAlive, 30_000, `answer ${when}`);
}

async function call(service: ServiceProcess, fields: object): Promise<string> {
  const body = { model: "vendor-f/m", messages: [{ role: "user", content: "hello" }], ...fields };
  const answer = await fetch(`${service.baseUrl}/chat/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.firstKey};a-key-of-the-vendor`,
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
  });
  return await answer.text();
}

async function until(
  holds: () => boolean | Promise<boolean>,
  ms: number,
  what: string,
): Promise<void> {
  for (const endMs = Date.now() + ms; Date.now() < endMs;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`no ${what} within ${ms} ms`);
}
