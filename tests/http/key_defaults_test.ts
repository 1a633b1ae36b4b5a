/** A key's defaults for coding agents, in which only URL, key and model can be set. */
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import assert from "@std/assert";
import { agentNames } from "../../contracts/admin/keys.ts";
import { shared, type TestService } from "../support/service.ts";
import { callingTool } from "../support/tool_calling_vendor.ts";
import { answered, hello, startTodaysVendors } from "../support/todays_vendors.ts";

const world = shared(startTodaysVendors);

async function accountWith(usd: string): Promise<string> {
  const name = `team ${crypto.randomUUID()}`;
  const made = await world().admin("account", "create", "--name", name);
  const { id } = made.json as { id: number };
  await world().admin("credits", "grant", "--usd", usd, "--account", String(id));
  return String(id);
}

async function balanceOf(account: string): Promise<{ balance: number; reserved: number }> {
  const { json } = await world().admin("credits", "show", "--account", account);
  const { balance_usd, reserved_usd } = json as Record<string, string>;
  return { balance: Number(balance_usd), reserved: Number(reserved_usd) };
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

Deno.test("a key's names go before all others and its app tag is recorded, in all dialects", async () => {
  world().play(callingTool(() => undefined));
  const { key } = await world().createKey(
    ...["--for", "claude-code", "--map", "claude-haiku-4-5=vendor-b/gpt-5.6-sol"],
    ...["gpt-4.1=acme/acme-1", "--map", "smart=gemini-2.5-flash"],
  );
  const { baseUrl } = world();
  const anthropic = new Anthropic({ baseURL: `${baseUrl}/chat`, apiKey: key, maxRetries: 0 });
  const message = await anthropic.messages.create({
    model: "claude-haiku-4-5",
    max_tokens: 99,
    messages: [{ role: "user", content: "Hi" }],
  }).withResponse();
  // Its own client compares the name.
  assert.equal(message.data.model, "claude-haiku-4-5");
  assert.equal(message.response.headers.get("x-model"), "vendor-b/gpt-5.6-sol");
  assert.match(world().last().path, /^\/b\/responses/);
  const row = await world().row(message.response.headers.get("x-transaction-id"));
  assert.deepEqual([row.app, row.model, row.requested_model], [
    "claude-code",
    "gpt-5.6-sol",
    "claude-haiku-4-5",
  ]);
  const openai = new OpenAI({ baseURL: `${baseUrl}/chat/v1`, apiKey: key, maxRetries: 0 });
  const chat = await openai.chat.completions.create({
    model: "gpt-4.1",
    messages: [{ role: "user", content: "/// APP own\nHi" }],
  }).withResponse();
  assert.equal(chat.response.headers.get("x-model"), "acme/acme-1");
  // A call's own tag goes before the key's.
  assert.equal((await world().row(chat.response.headers.get("x-transaction-id"))).app, "own");
  const response = await openai.responses.create({ model: "smart", input: "Hi" }).withResponse();
  assert.equal(response.response.headers.get("x-model"), "vendor-d/gemini-2.5-flash");
  const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${baseUrl}/chat` } });
  const generated = await google.models.generateContent({ model: "gpt-4.1", contents: "Hi" });
  assert.equal(generated.text, "Fine.");
  assert.match(world().last().path, /^\/acme\/chat/);
  // Other keys, and vendors' own families, know nothing of it.
  for (
    const [path, headers] of [
      ["/chat/v1/chat/completions", {}],
      ["/vendor-b/v1/chat/completions", bearer(key)],
    ] as const
  ) {
    const plain = await world().post(path, { model: "gpt-4.1", messages: hello }, headers);
    assert.equal(plain.headers.get("x-model"), "vendor-b/gpt-4.1", await plain.text());
  }
});

Deno.test("a name that leads nowhere is the default model, and no other is", async () => {
  world().play(answered);
  const { key } = await world().createKey("--name", "agent", "--default-model", "acme/acme-1");
  const ask = async (model: string, headers: Record<string, string>) => {
    const body = { model, messages: hello };
    const answer = await world().post("/chat/v1/chat/completions", body, headers);
    await answer.body?.cancel();
    return [answer.status, answer.headers.get("x-model")];
  };
  assert.deepEqual(await ask("gemini-99-preview", bearer(key)), [200, "acme/acme-1"]);
  assert.deepEqual(await ask("gpt-4.1", bearer(key)), [200, "vendor-b/gpt-4.1"]);
  assert.deepEqual(await ask("gemini-99-preview", {}), [404, null]);
});

Deno.test("a vendor key that comes with a call follows its key's names only to its own vendor", async () => {
  world().play(answered);
  const { key } = await world().createKey(
    ...["--name", "agent", "--default-model", "vendor-b/gpt-4.1"],
    ...["--map", "claude-haiku-4-5=vendor-b/gpt-4.1", "gpt-5-mini=vendor-b/gpt-4.1"],
  );
  const ask = async (model: string, vendorKey: string) => {
    const before = world().vendor.requests.length;
    const headers = bearer(`${key};${vendorKey}`);
    const body = { model, messages: hello };
    const answer = await world().post("/chat/v1/chat/completions", body, headers);
    const { error } = await answer.json();
    return [answer.status, error?.param, world().vendor.requests.length - before];
  };
  for (const model of ["claude-haiku-4-5", "claude-that-nobody-knows"]) {
    assert.deepEqual(await ask(model, "sk-ant-of-the-caller"), [400, "model", 0], model);
    assert.deepEqual(await ask(model, "sk-of-the-caller"), [200, undefined, 1], model);
  }
  // The same vendor as the call names: whose key it is was the caller's to say.
  assert.deepEqual(await ask("gpt-5-mini", "any-key-of-the-caller"), [200, undefined, 1]);
});

Deno.test("a key's list of models holds for what its names stand for", async () => {
  world().play(answered);
  const { key } = await world().createKey(
    ...["--name", "agent", "--models", "acme/acme-1"],
    ...["--map", "small=acme/acme-1", "large=vendor-b/gpt-4.1"],
  );
  const ask = async (model: string) => {
    const body = { model, messages: hello };
    const answer = await world().post("/chat/v1/chat/completions", body, bearer(key));
    return [answer.status, (await answer.json()).error?.code];
  };
  assert.deepEqual(await ask("small"), [200, undefined]);
  assert.deepEqual(await ask("large"), [403, "permission_denied"]);
});

/** A whole answer of gpt-4.1 (2 and 8 USD per million) with so many tokens of output. */
function produces(outputTokens: number) {
  return (exchange: Parameters<typeof answered>[0]) =>
    exchange.answer(200, {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "gpt-4.1",
      choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }],
      usage: {
        prompt_tokens: 10,
        completion_tokens: outputTokens,
        total_tokens: 10 + outputTokens,
      },
    });
}

Deno.test("credit is held for the expected output, charged is what was used, and the cap limits the debt", async () => {
  const account = await accountWith("0.05");
  const ask = async (key: string) => {
    const body = { model: "vendor-b/gpt-4.1", messages: hello };
    const answer = await world().post("/chat/v1/chat/completions", body, bearer(key));
    return { status: answer.status, headers: answer.headers, json: await answer.json() };
  };
  const plain = await world().createKey("--account", account);
  world().play(produces(30_000));
  // Without: the model may write 32,768 tokens, for 0.26 USD.
  const refused = await ask(plain.key);
  assert.equal(refused.status, 402);
  assert.match(refused.json.error.message, /--expected-output-tokens/);
  const expecting = await world().createKey(
    ...["--account", account, "--expected-output-tokens", "1000", "--cap-day-usd", "0.5"],
  );
  let reserved = NaN;
  world().play(async (exchange) => {
    reserved = (await balanceOf(account)).reserved;
    return await produces(30_000)(exchange);
  });
  const answer = await ask(expecting.key);
  assert.equal(answer.status, 200);
  assert.ok(reserved >= 0.008 && reserved < 0.012, `${reserved}`);
  // More than ten times what was held is believed all the same: the call could cost that.
  const transaction_id = answer.headers.get("x-transaction-id");
  const [row] = await world().rows({ transaction_id }, expecting.key);
  assert.deepEqual([row?.charged_usd, row?.billing_basis], ["0.240020000", "reported"]);
  const { balance, reserved: left } = await balanceOf(account);
  assert.ok(Math.abs(balance - (0.05 - 0.24002)) < 1e-9, `${balance}`);
  assert.equal(left, 0);
  // In debt: nobody calls any more.
  assert.equal((await ask(plain.key)).json.error.code, "insufficient_credits");
  await world().admin("credits", "grant", "--usd", "1", "--account", account);
  // 0.24 is spent and 0.26 could follow.
  const capped = await ask(expecting.key);
  assert.equal(capped.json.error.code, "spend_cap_exceeded");
  world().play(answered);
});

Deno.test("a key that expects less than a call may cost keeps a cap", async () => {
  const { key: admin } = await world().createKey("--scope", "admin");
  const { id } = await world().createKey("--expected-output-tokens", "10", "--cap-day-usd", "1");
  const change = async (body: unknown) => {
    const answer = await world().fetch(`/api/v1/admin/keys/${id}`, {
      method: "PATCH",
      headers: { "content-type": "application/json", ...bearer(admin) },
      body: JSON.stringify(body),
    });
    return { status: answer.status, json: await answer.json() };
  };
  const refused = await change({ cap_day_usd: null, name: "free" });
  assert.equal(refused.status, 400);
  assert.match(
    refused.json.error.message,
    /^cap_day_usd: the key has expected_output_tokens, so it needs a daily or monthly cap/,
  );
  const moved = await change({ cap_day_usd: null, cap_month_usd: "2" });
  assert.deepEqual([moved.status, moved.json.cap_day_usd], [200, null]);
  assert.notEqual(moved.json.name, "free");
  const last = await change({ cap_month_usd: null });
  assert.match(last.json.error.message, /^cap_month_usd: the key has expected_output_tokens, /);
});

Deno.test("parallel calls of an agent need what they are expected to cost", async () => {
  const account = await accountWith("0.05");
  const { key } = await world().createKey(
    ...["--account", account, "--expected-output-tokens", "1000", "--cap-day-usd", "2"],
  );
  let arrived = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  world().play(async (exchange) => {
    if (++arrived === 4) resolve();
    await promise;
    return await produces(100)(exchange);
  });
  const body = { model: "vendor-b/gpt-4.1", messages: hello };
  const answers = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const answer = await world().post("/chat/v1/chat/completions", body, bearer(key));
      // A refused call would have the others wait for ever.
      if (answer.status !== 200) resolve();
      return answer;
    }),
  );
  for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
  world().play(answered);
});

async function refusalOf(service: TestService, ...argv: string[]): Promise<string> {
  const result = await service.admin("key", "create", "--name", "k", ...argv);
  assert.equal(result.exitCode, 2, JSON.stringify(result));
  return (result.json as { error: string }).error;
}

Deno.test("wrong defaults are refused by their option", async () => {
  const cases: [string[], RegExp][] = [
    [["--for", "emacs"], /^--for emacs: expected one of codex, claude-code, /],
    [["--map", "x"], /^--map x: expected NAME=MODEL/],
    [["--map", "x=nowhere"], /^--map: 'x': no model has the name 'nowhere'/],
    [["--map", "x=gpt-4.1", "x=gpt-5-mini"], /^--map x: is set twice/],
    [["--models", "gpt-4.1", "nowhere"], /^--models: no model has the name 'nowhere'/],
    [["--models", "opneai/gpt-4.1"], /^--models: no model has the name 'opneai\/gpt-4.1'/],
    [["--default-model", "nowhere"], /^--default-model: no model has the name 'nowhere'/],
    [["--app", "a\nb"], /^--app: expected one line/],
    [
      ["--expected-output-tokens", "1000"],
      /^--expected-output-tokens: needs a daily or monthly cap/,
    ],
    [
      ["--expected-output-tokens", "0", "--cap-day-usd", "1"],
      /^--expected-output-tokens: expected a whole number/,
    ],
    [
      ["--expected-output-tokens", "1e3", "--cap-day-usd", "1"],
      /^--expected-output-tokens: expected a whole number/,
    ],
  ];
  for (const [argv, message] of cases) {
    assert.match(await refusalOf(world(), ...argv), message);
  }
});

Deno.test("a key for an agent comes with the lines to paste, which hold address, key and model", async () => {
  for (
    const agent of agentNames
  ) {
    const made = await world().admin(
      ...["key", "create", "--name", "k", "--for", agent, "--default-model", "acme/acme-1"],
    );
    const { key } = made.json as { key: string };
    const [first, ...lines] = made.lines;
    assert.equal(first, key);
    const text = lines.join("\n");
    for (const part of [key, `${world().baseUrl}/chat`, "acme/acme-1"]) {
      assert.ok(text.includes(part), `${agent}: ${part} in ${text}`);
    }
  }
  for (const agent of ["codex", "claude-code", "aider"]) {
    const made = await world().admin("key", "create", "--name", "k", "--for", agent);
    const home = await Deno.makeTempDir({ prefix: "paste-" });
    // The last line starts the program.
    const pasted = made.lines.slice(made.lines.findIndex((one) => one.startsWith("For ")) + 1, -1);
    const { stdout, stderr } = await new Deno.Command("bash", {
      args: ["-eu", "-c", `${pasted.join("\n")}\nenv; cat .codex/*.toml || true`],
      ...{ cwd: home, clearEnv: true, env: { HOME: home, PATH: "/usr/bin:/bin" } },
    }).output();
    const set = new TextDecoder().decode(stdout);
    for (const part of [(made.json as { key: string }).key, `${world().baseUrl}/chat`]) {
      assert.ok(set.includes(part), `${agent}: ${new TextDecoder().decode(stderr)}`);
    }
    await Deno.remove(home, { recursive: true });
  }
  const listed = (await world().admin("key", "list")).json as Record<string, unknown>[];
  const codex = listed.find((one) => one.for === "codex");
  assert.deepEqual([codex?.app, codex?.default_model, codex?.expected_output_tokens], [
    "codex",
    "acme/acme-1",
    null,
  ]);
});
