import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { type FakeExchange, startFakeVendor } from "../support/fake_vendor.ts";
import { asked, eachSite, type Site } from "../support/money.ts";
import { runProgram, type ServiceProcess, startService } from "../support/process.ts";
import { startTestService } from "../support/service.ts";
import { event, scriptedModel, wholeAnswer } from "../support/service_scripted.ts";

/** Vendor keys in a form that no mask knows. */
const vendorKeys = {
  managed: "canary0of0the0managed0key",
  stored: "canary0of0the0stored0key",
  dual: "canary0of0the0callers0key",
} as const;

/** How the vendor behaves, by a word of the prompt; it repeats the key wherever vendors do. */
const behaviours = ["fine", "refuse", "forbid", "fail", "nonsense", "cut", "midstream"] as const;

eachSite(
  "keys of every mode are nowhere but sealed and hashed: answers, log, metrics, exports, files, tables",
  async (site) => {
    await using vendor = await startFakeVendor(answer);
    const env = {
      ...site.env,
      VENDOR_B_BASE_URL: `${vendor.url}/v1`,
      VENDOR_B_API_KEY: vendorKeys.managed,
      METRICS_TOKEN: "token-of-the-metrics",
    };
    const service = await startService({ env });
    await service.printed(/Try it:[^]*curl[^\n]*\n/);
    const greeting = service.output().length;
    const first = service.firstKey;
    const seen: string[] = [];
    const admin = async (words: string, input?: string) => {
      const args = [...words.split(" "), "--json"];
      // What takes a key goes by the program, from its standard input on.
      const ended = input === undefined
        ? await runAdminHere({ args, env })
        : await runProgram({ script: "admin.ts", args, env, input });
      assert.equal(ended.code, 0, ended.stdout + ended.stderr);
      return ended.stdout + ended.stderr;
    };
    await admin("account create --name team");
    seen.push(await admin("vendor-key set --vendor vendor-b --account team", vendorKeys.stored));
    const second = JSON.parse(await admin("key create --name x --account team")).key as string;
    await untilStoredKeyCounts(service, second);
    const modes = { managed: first, stored: second, dual: `${second};${vendorKeys.dual}` };
    const answers = await Promise.all(Object.values(modes).map((one) => callAll(service, one)));
    seen.push(...answers.flat());
    // Each key was really used.
    for (const [mode, key] of Object.entries(vendorKeys)) {
      const uses = vendor.requests.filter(({ headers }) => headers.authorization?.endsWith(key));
      assert.ok(uses.length >= behaviours.length, mode);
    }
    seen.push(await admin("key list"), await admin("vendor-key list --account team"));
    const metrics = await fetch(`${service.baseUrl}/metrics`, {
      headers: { authorization: "Bearer token-of-the-metrics" },
    });
    seen.push(await metrics.text());
    for (const key of [first, second]) {
      for (const format of ["json", "csv"]) {
        const body = { start_date: "2020-01-01T00:00:00Z", format };
        const text = await (await asked(service, key).post("/api/v1/exports", body)).text();
        if (format === "json") assert.ok(text.includes("a word of the prompt"), "calls are in it");
        seen.push(text);
      }
    }
    // Streams of every mode are in their middle when the process dies.
    const hanging = await Promise.all(
      Object.values(modes).map((one) => call(service, one, "hang", true)),
    );
    const readers = hanging.map((one) => one.body!.getReader());
    for (const reader of readers) await reader.read();
    service.kill("SIGKILL");
    await service.status;
    for (const reader of readers) await reader.read().catch(() => {});
    const canaries = { ...vendorKeys, first, second };
    seen.push(service.output().slice(greeting));
    for (const text of seen) refute(text, canaries, "what was said");
    const journal = await refuteFiles(site, canaries);
    assert.ok(journal.includes("a word of the prompt"), "the journal holds the calls");
    const restarted = await startTestService({ env });
    const rows = JSON.stringify(await asked(restarted, second).rows({ status: "interrupted" }));
    assert.match(rows, /dual_key[^]*stored_key|stored_key[^]*dual_key/);
    refute(rows, canaries, "the rows of cut calls");
    await restarted.stop();
    refute(restarted.log.join("\n"), canaries, "the log of the restart");
    await refuteFiles(site, canaries);
    await refuteTables(site, canaries);
  },
);

/** On PostgreSQL another process has stored the key, and this one looks four times a second. */
async function untilStoredKeyCounts(service: ServiceProcess, credential: string): Promise<void> {
  for (let tries = 0;; tries++) {
    const answer = await call(service, credential, "fine", false);
    const text = await answer.text();
    if (answer.ok) return;
    // Until then the account's own credit would have to pay, and it has none.
    assert.equal(answer.status, 402, text);
    assert.ok(tries < 100, text);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Gives what was answered: texts and headers. */
async function callAll(service: ServiceProcess, credential: string): Promise<string[]> {
  const forms = behaviours.flatMap((behaviour) =>
    [false, true].map((stream) => ({ behaviour, stream }))
  );
  const seen = await Promise.all(forms.map(async ({ behaviour, stream }) => {
    const answer = await call(service, credential, behaviour, stream);
    const text = await answer.text().catch(() => "");
    if (behaviour === "fine") assert.equal(answer.status, 200, text);
    return `${behaviour}: ${text} ${JSON.stringify([...answer.headers])}`;
  }));
  const malformed = await asked(service, credential).post("/vendor-b/v1/chat/completions", "{");
  seen.push(await malformed.text());
  return seen;
}

function call(
  service: ServiceProcess,
  credential: string,
  behaviour: string,
  stream: boolean,
): Promise<Response> {
  const messages = [{ role: "user", content: `do ${behaviour}: a word of the prompt` }];
  const body = { model: scriptedModel, messages, stream };
  return asked(service, credential).post("/vendor-b/v1/chat/completions", body);
}

/** A vendor that repeats the key it was called with in every error. */
async function answer(exchange: FakeExchange): Promise<void> {
  const { headers, body, method } = exchange.request;
  if (method === "GET") return await exchange.answer(200, { data: [] });
  const key = headers.authorization?.replace("Bearer ", "") ?? "";
  const error = {
    error: { message: `Wrong: ${key} and ${headers.authorization}.`, code: key, param: key },
  };
  const behaviour = /do (\w+):/.exec(body)?.[1];
  const statuses: Readonly<Record<string, number>> = { refuse: 400, forbid: 401, fail: 500 };
  const status = statuses[behaviour ?? ""];
  if (status !== undefined) return await exchange.answer(status, error);
  if (behaviour === "nonsense") return await exchange.answer(200, `<html>${key}</html>`);
  const streams = /"stream":true/.test(body);
  if (!streams && behaviour === "cut") return exchange.cut();
  if (!streams && behaviour === "midstream") return await exchange.answer(200, error);
  if (!streams) return await exchange.answer(200, wholeAnswer);
  await exchange.head(200, { "content-type": "text/event-stream" });
  await exchange.write(event({ choices: [{ index: 0, delta: { content: "Words" } }] }));
  if (behaviour === "hang") return;
  if (behaviour === "cut") return exchange.cut();
  if (behaviour === "midstream") await exchange.write(`data: ${JSON.stringify(error)}\n\n`);
  else await exchange.write(event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
  await exchange.write("data: [DONE]\n\n");
  await exchange.end();
}

type Canaries = Readonly<Record<string, string>>;

function refute(text: string, canaries: Canaries, where: string): void {
  for (const [name, value] of Object.entries(canaries)) {
    const at = text.indexOf(value);
    // A key itself is not part of a failure's message.
    const before = text.slice(Math.max(0, at - 60), Math.max(0, at));
    assert.ok(at === -1, `the ${name} key is in ${where}, after: ${before}`);
  }
}

/** Looks at every byte below the data directory; gives the journal's. */
async function refuteFiles(site: Site, canaries: Canaries): Promise<string> {
  let journal = "";
  const walk = async (directory: string) => {
    for await (const entry of Deno.readDir(directory)) {
      const path = `${directory}/${entry.name}`;
      if (entry.isDirectory) await walk(path);
      if (!entry.isFile) continue;
      const text = new TextDecoder("latin1").decode(await Deno.readFile(path));
      refute(text, canaries, path);
      if (path.includes("/journal/")) journal += text;
    }
  };
  await walk(site.env.DATA_DIR!);
  return journal;
}

/** Neither as it is nor as a row shows bytes. */
async function refuteTables(site: Site, canaries: Canaries): Promise<void> {
  const inHex = Object.entries(canaries).map(([name, value]) => {
    const bytes = [...new TextEncoder().encode(value)];
    return [`${name} (hex)`, bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")];
  });
  const forms = { ...canaries, ...Object.fromEntries(inHex) };
  await site.query(async (database) => {
    const tables = await database.query(
      `select table_name from information_schema.tables where table_schema = 'public'`,
      [],
    );
    assert.ok(tables.length > 5);
    for (const { table_name } of tables) {
      const rows = await database.query(`select t::text as row from "${table_name}" t`, []);
      refute(rows.map(({ row }) => row).join("\n"), forms, `table ${table_name}`);
    }
  });
}
