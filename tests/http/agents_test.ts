/** What coding agents send beside their bodies' words, and what they compare in answers. */
import Anthropic from "@anthropic-ai/sdk";
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { shared } from "../support/service.ts";
import { answered, hello, startTodaysVendors } from "../support/todays_vendors.ts";
import { callingTool, toolNames } from "../support/tool_calling_vendor.ts";

const world = shared(startTodaysVendors);

const messages = "/chat/v1/messages";

/** The row of a call that was answered. */
async function rowOf(answer: Response) {
  assert.equal(answer.status, 200, await answer.text());
  return await world().row(answer.headers.get("x-transaction-id"));
}

Deno.test("sessions and users are those that agents name, in headers and in Claude Code's text", async () => {
  world().play(answered);
  const user_id = JSON.stringify({ device_id: "d1", account_uuid: "a1", session_id: "s-body" });
  const claude = {
    model: "vendor-c/claude-haiku-4-5",
    max_tokens: 9,
    messages: hello,
    metadata: { user_id },
  };
  const named = await rowOf(await world().post(messages, claude));
  assert.deepEqual([named.session_id, named.user_id], ["s-body", "a1"]);
  // The vendor gets the text as it is in its own dialect; others the user alone.
  assert.equal(JSON.parse(world().last().body).metadata.user_id, user_id);
  await rowOf(await world().post(messages, { ...claude, model: "vendor-b/gpt-5.6-sol" }));
  assert.ok(world().last().body.includes('"a1"') && !world().last().body.includes("s-body"));
  const headers = ["x-claude-code-session-id", "session_id", "session-id", "x-session-affinity"];
  for (const name of headers) {
    const row = await rowOf(await world().post(messages, claude, { [name]: `by ${name}` }));
    assert.equal(row.session_id, `by ${name}`);
  }
  const both = { "x-session-id": "mine", "x-claude-code-session-id": "theirs", "x-user-id": "ann" };
  const own = await rowOf(await world().post(messages, claude, both));
  assert.deepEqual([own.session_id, own.user_id], ["mine", "ann"]);
  // curl sends UTF-8, of which this client is given each byte as a character.
  const utf8 = Buffer.from("voilà").toString("latin1");
  const accented = { "x-session-id": utf8, "x-user-id": utf8, "user-agent": `${utf8}/1.0 x` };
  const french = await rowOf(await world().post(messages, claude, accented));
  assert.deepEqual([french.session_id, french.user_id], ["voilà", "voilà"]);
  assert.equal(french.client, "voilà/1.0");
  // An agent's header that can't be a column is none; the gateway's own is refused.
  const long = "x".repeat(257);
  const cut = await rowOf(await world().post(messages, claude, { session_id: long }));
  assert.equal(cut.session_id, "s-body");
  const refused = await world().post(messages, claude, { "x-session-id": long });
  assert.equal(refused.status, 400, await refused.text());
});

Deno.test("a loaded tool is described in text where the vendor has no reference to it", async () => {
  world().play(answered);
  const body = {
    max_tokens: 9,
    tools: [{ name: "ToolSearch", input_schema: { type: "object" } }],
    messages: [
      ...hello,
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "ToolSearch", input: {} }],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [{ type: "tool_reference", tool_name: "mcp__dict__lookup" }],
        }],
      },
    ],
  };
  for (const model of ["vendor-b/gpt-5.6-sol", "vendor-d/gemini-2.5-flash", "acme/acme-1"]) {
    const answer = await world().post(messages, { ...body, model });
    assert.equal(answer.status, 200, await answer.text());
    assert.match(world().last().body, /Tool mcp__dict__lookup is loaded\./, model);
    assert.equal(answer.headers.get("x-translation-loss"), null, model);
  }
});

Deno.test("the tool that holds a place for deferred ones is left out by name, deferred ones stay", async () => {
  world().play(answered);
  const input_schema = { type: "object", properties: {} };
  const deferred = (name: string) => ({ name, input_schema, defer_loading: true });
  const body = {
    max_tokens: 9,
    messages: hello,
    tools: [deferred("mcp__dict__lookup"), deferred("DeferredToolPlaceholder")],
  };
  for (const model of ["vendor-b/gpt-5.6-sol", "vendor-d/gemini-2.5-flash", "acme/acme-1"]) {
    const answer = await world().post(messages, { ...body, model });
    assert.equal(answer.status, 200, await answer.text());
    const losses = answer.headers.get("x-translation-loss")!.split(",");
    assert.deepEqual(losses.toSorted(), ["tools[0].defer_loading", "tools[1]"], model);
    assert.deepEqual(toolNames(JSON.parse(world().last().body)), ["mcp__dict__lookup"], model);
  }
  // Its own vendor gets the list as it is.
  const own = await world().post(messages, { ...body, model: "vendor-c/claude-haiku-4-5" });
  assert.equal(own.headers.get("x-translation-loss"), null, await own.text());
  assert.match(world().last().body, /DeferredToolPlaceholder/);
});

Deno.test("what Claude Code writes for Anthropic's accounts changes no other vendor's prompt", async () => {
  world().play(answered);
  const asked = (model: string, mark: string) =>
    world().post(messages, {
      ...{ model, max_tokens: 9, messages: hello },
      system: [
        {
          type: "text",
          text: `x-anthropic-billing-header: cc_version=2.1.332.${mark}; cch=${mark};`,
        },
        { type: "text", text: "Be kind.", cache_control: { type: "ephemeral" } },
      ],
    });
  for (const model of ["vendor-b/gpt-5.6-sol", "vendor-d/gemini-2.5-flash", "acme/acme-1"]) {
    const bodies: string[] = [];
    // Its digits differ from call to call.
    for (const mark of ["18b", "3b1"]) {
      const answer = await asked(model, mark);
      assert.equal(answer.status, 200, await answer.text());
      assert.match(answer.headers.get("x-translation-loss")!, /^system\[0\](,|$)/, model);
      bodies.push(world().last().body);
    }
    assert.match(bodies[0]!, /Be kind/);
    assert.equal(bodies[1], bodies[0], model);
  }
  // Its own vendor reads it, and leaves it out of the prompt itself.
  const own = await asked("vendor-c/claude-haiku-4-5", "18b");
  assert.equal(own.headers.get("x-translation-loss"), null, await own.text());
  assert.match(world().last().body, /x-anthropic-billing-header/);
});

Deno.test("what Codex writes on items for its vendor reaches that one alone, and is no loss elsewhere", async () => {
  world().play(answered);
  const internal_chat_message_metadata_passthrough = { turn_id: "turn-of-codex" };
  const input = [{ role: "user", content: "Hi", internal_chat_message_metadata_passthrough }];
  for (const model of ["vendor-b/gpt-5.6-sol", "vendor-c/claude-haiku-4-5", "acme/acme-1"]) {
    const answer = await world().post("/chat/v1/responses", { model, input });
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(answer.headers.get("x-translation-loss"), null, model);
    assert.equal(
      world().last().body.includes("turn-of-codex"),
      model.startsWith("vendor-b"),
      model,
    );
  }
});

Deno.test("messages answers name the model as it was asked, whole and streamed, on every lane", async () => {
  world().play(callingTool(() => undefined));
  const { baseUrl, key } = world();
  const client = new Anthropic({ baseURL: `${baseUrl}/chat`, apiKey: key, maxRetries: 0 });
  const models = ["vendor-c/claude-haiku-4-5", "anthropic/claude-haiku-4-5", "claude-haiku-4-5"]
    .concat("vendor-d/gemini-2.5-flash", "vendor-b/gpt-5.6-sol", "acme/acme-1");
  for (const model of models) {
    const body = { model, max_tokens: 99, messages: [{ role: "user", content: "Hi" }] } as const;
    assert.equal(
      (await client.messages.create({ ...body, messages: [...body.messages] })).model,
      model,
    );
    const stream = client.messages.stream({ ...body, messages: [...body.messages] });
    assert.equal((await stream.finalMessage()).model, model, model);
  }
});

Deno.test("a client that looks whether somebody is there finds somebody, without a key", async () => {
  for (const path of ["/chat", "/anthropic", "/vendor-c", "/chat/"]) {
    const answer = await world().fetch(path, { method: "HEAD", headers: { authorization: "" } });
    assert.equal(answer.status, 200, path);
    assert.equal(await answer.text(), "");
  }
  for (const [path, method] of [["/chat/v1/models", "HEAD"], ["/chat", "GET"]] as const) {
    const answer = await world().fetch(path, { method, headers: { authorization: "" } });
    assert.equal(answer.status, 401, path);
    await answer.body?.cancel();
  }
});

Deno.test("marks on a chat caller's messages and calls reach vendor-c", async () => {
  world().play(answered);
  const mark = { cache_control: { type: "ephemeral" } };
  const call = {
    id: "call_1",
    type: "function",
    function: { name: "f", arguments: "{}" },
    ...mark,
  };
  const answer = await world().post("/chat/v1/chat/completions", {
    model: "vendor-c/claude-haiku-4-5",
    messages: [
      { role: "system", content: "long", ...mark },
      { role: "user", content: "Hi", ...mark },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "1", ...mark },
    ],
    tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
  });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get("x-translation-loss"), null);
  const sent = JSON.parse(world().last().body);
  assert.deepEqual(sent.system[0].cache_control, mark.cache_control);
  const marked = sent.messages.map((one: { content: { cache_control?: unknown }[] }) =>
    one.content.at(-1)?.cache_control !== undefined
  );
  assert.deepEqual(marked, [true, true, true]);
});

Deno.test("empty parts of a Go client's history are ignored, and our answers give it none", async () => {
  world().play(callingTool(() => undefined));
  const path = (verb: string) => `/chat/v1/models/vendor-c/claude-haiku-4-5:${verb}`;
  const contents = [
    { role: "user", parts: [{ text: "Hi" }] },
    { role: "model", parts: [{ text: "Fine." }, {}] },
    { role: "user", parts: [{ text: "And?" }] },
  ];
  const whole = await world().post(path("generateContent"), { contents });
  assert.equal(whole.status, 200, await whole.text());
  const streamed = await world().post(`${path("streamGenerateContent")}?alt=sse`, { contents });
  const text = await streamed.text();
  const texts = [...text.matchAll(/"text":"([^"]*)"/g)].map(([, one]) => one);
  assert.equal(texts.join(""), "Fine.");
  assert.doesNotMatch(text, /{"text":""}|[[,]{}/);
});
