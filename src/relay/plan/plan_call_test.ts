import assert from "@std/assert";
import type { DialectName } from "../../../contracts/calls/vendors.ts";
import { FakeClock } from "../../base/clock.ts";
import { callMark } from "../../dialects/text/generate/request/call_mark.ts";
import { dialects } from "../../dialects/text/mod.ts";
import type { Mode } from "../../shared/interaction.ts";
import { createLearnedEndpoints } from "../../vendors/learned_endpoints.ts";
import { createRegistry } from "../../vendors/registry.ts";
import { planCall, type PlanDeps, type PlanRequest } from "./plan_call.ts";

Deno.test("what the vendor has refused lately is left out before the request is written", async () => {
  const clock = new FakeClock();
  const learned = createLearnedEndpoints({ clock });
  const deps = {
    ...{ clock, dialects, learned, keepAliveMs: 1000 },
    prices: { find: () => undefined, chatRefuses: () => [] },
  } as unknown as PlanDeps;
  const body = {
    ...{ model: "m", max_tokens: 4000, messages: [{ role: "user", content: "Go" }] },
    thinking: { type: "adaptive", display: "summarized" },
  };
  const reasoningFor = async (accountId: number, mode: Mode = "managed") => {
    const plan = await planCall(deps, requestOf(body, accountId, mode));
    return (JSON.parse(plan.requestText) as { reasoning?: object }).reasoning;
  };
  const asked = await reasoningFor(1);
  assert.ok("summary" in asked!);
  learned.learnRefusedAddition(
    { label: "vendor-b", model: "m", dialect: "responses", accountId: 1, mode: "managed" },
    '"reasoning.summary"',
  );
  const { summary: _, ...plain } = asked as { summary: unknown };
  assert.deepEqual(await reasoningFor(1), plain);
  assert.deepEqual(await reasoningFor(2), asked, "another account's");
  assert.deepEqual(await reasoningFor(1, "stored_key"), asked, "by the account's own key");
  clock.advance(10 * 60_000);
  assert.deepEqual(await reasoningFor(1), asked, "ten minutes later");
});

Deno.test("vendors without OpenAI's own tools get them as functions, on their own endpoint", async () => {
  const deps = planDeps();
  const reasoning = { effort: "low", summary: "auto" };
  const called = { type: "apply_patch_call", call_id: "c", operation: { type: "delete_file" } };
  const patched = { type: "apply_patch_call_output", call_id: "c", status: "completed" };
  const question = { role: "user", content: "Go" };
  const tools = [{ type: "apply_patch" }];
  const asked = { dialect: "responses" } as const;
  const bodies = [
    { input: "Go", tools, reasoning },
    { input: [question, called, patched], reasoning },
  ];
  for (const body of bodies) {
    const planned = (vendor: string) =>
      planCall(deps, requestOf({ model: "m", ...body }, 1, "managed", { ...asked, vendor }));
    for (const vendor of ["vendor-a", "vendor-g"]) {
      const plan = await planned(vendor);
      assert.deepEqual([plan.upstream.name, plan.sameDialect, plan.losses], [
        ...["responses", false, []],
      ]);
      assert.doesNotMatch(plan.requestText, /"type":"apply_patch/);
      assert.match(plan.requestText, /"name":"apply_patch"/);
      // The endpoint is the one that was asked, which has summaries.
      assert.match(plan.requestText, /"summary":"auto"/);
    }
    assert.ok((await planned("vendor-b")).sameDialect);
  }
  const search = { model: "m", input: "Go", tools: [{ type: "web_search" }] };
  const plain = requestOf(search, 1, "managed", { ...asked, vendor: "vendor-g" });
  assert.ok((await planCall(deps, plain)).sameDialect);
  // xAI records its own search as a custom call, which callers send back.
  const searched = { type: "custom_tool_call", call_id: "xs_call_1", name: "x_keyword_search" };
  const next = { ...search, input: [question, searched, question], tools: [{ type: "x_search" }] };
  const again = requestOf(next, 1, "managed", { ...asked, vendor: "vendor-g" });
  assert.ok((await planCall(deps, again)).sameDialect);
  const f = { type: "function", name: "f", parameters: { type: "object" } };
  const namespace = { type: "namespace", name: "n", tools: [f] };
  const role = "developer";
  const parameters = f.parameters;
  for (
    const [body, name] of [
      [{ input: "Go", tools: [namespace] }, "n__f"],
      [{ input: [question, { type: "additional_tools", role, tools: [f] }] }, "f"],
      [
        { input: "Go", tools: [{ type: "tool_search", execution: "client", parameters }] },
        "tool_search",
      ],
      [{ input: "Go", tools: [{ type: "custom", name: "free" }] }, "free"],
    ] as const
  ) {
    const request = requestOf({ model: "m", ...body }, 1, "managed", {
      ...{ ...asked, vendor: "vendor-g" },
    });
    const plan = await planCall(deps, request);
    assert.deepEqual([plan.upstream.name, plan.losses], ["responses", []]);
    const sent = JSON.parse(plan.requestText) as { tools: { type: string; name: string }[] };
    const named = sent.tools.map((tool) => [tool.type, tool.name.replace(/_[0-9a-f]{8}$/, "")]);
    assert.deepEqual(named, [["function", name]]);
    // xAI has a tool with this name, and refuses a function that has it.
    assert.doesNotMatch(plan.requestText, /"tool_search"/);
    assert.doesNotMatch(plan.requestText, /additional_tools/);
  }
});

Deno.test("vendors get no field or item of Codex's that their endpoint refuses", async () => {
  const clock = new FakeClock();
  const deps = {
    ...{ clock, dialects, learned: createLearnedEndpoints({ clock }), keepAliveMs: 1000 },
    prices: { find: () => ({ rates: { perWebSearch: 1 } }), chatRefuses: () => [] },
    storedResponses: { findReasoning: () => Promise.resolve([]) },
  } as unknown as PlanDeps;
  const question = { role: "user", content: "Go" };
  const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" };
  const said = { role: "assistant", content: "Done" };
  const note = { type: "agent_message", author: "a", content: [{ type: "input_text", text: "N" }] };
  const search = { type: "web_search" };
  for (
    const [body, sent] of [
      [{ input: "Go", tools: [{ ...search, external_web_access: true }] }, { tools: [search] }],
      [
        { input: [question, { ...thought, content: null }, said] },
        { input: [question, thought, said] },
      ],
      [{ input: [question, note] }, { input: [question, { role: "user", content: "N" }] }],
    ] as const
  ) {
    const asked = { model: "m", prompt_cache_key: "session", ...body };
    const request = requestOf(asked, 1, "managed", { dialect: "responses", vendor: "vendor-g" });
    const plan = await planCall(deps, request);
    assert.deepEqual([plan.sameDialect, plan.losses], [false, []]);
    const { input, tools, prompt_cache_key } = JSON.parse(plan.requestText);
    assert.equal(prompt_cache_key, "session");
    if ("tools" in sent) assert.deepEqual(tools, sent.tools);
    else assert.deepEqual(input.map(plainItem), sent.input);
  }
});

Deno.test("chat vendors that are known to lack custom tools get functions, others the bytes", async () => {
  const deps = planDeps();
  const question = { role: "user", content: "Go" };
  const named = { name: "free" };
  const call = { id: "c", type: "custom", custom: { ...named, input: "ls" } };
  const bodies = [
    { messages: [question], tools: [{ type: "custom", custom: named }] },
    {
      messages: [
        ...[question, { role: "assistant", tool_calls: [call] }],
        { role: "tool", tool_call_id: "c", content: "" },
      ],
    },
  ];
  for (const body of bodies) {
    for (const vendor of ["vendor-a", "vendor-b", "vendor-f", "vendor-g"]) {
      const request = requestOf({ model: "m", ...body }, 1, "managed", { dialect: "chat", vendor });
      const plan = await planCall(deps, request);
      const isTranslated = /[ag]$/.test(vendor);
      assert.deepEqual([plan.sameDialect, plan.upstream.name], [!isTranslated, "chat"]);
      assert.equal(plan.requestText.includes('"custom"'), !isTranslated, plan.requestText);
      assert.deepEqual(plan.losses, []);
    }
  }
});

Deno.test("fields that OpenRouter added to chat are put into OpenAI's own, others get them", async () => {
  const messages = [{ role: "user", content: "Go" }];
  const deps = planDeps();
  const planned = (vendor: string, more: object) => {
    const body = { model: "gpt-5-mini", messages, ...more };
    return planCall(deps, requestOf(body, 1, "managed", { dialect: "chat", vendor }));
  };
  const written = async (more: object) => {
    const { requestText, losses, upstream } = await planned("vendor-b", more);
    const { model: _, messages: __, ...rest } = JSON.parse(requestText) as Record<string, unknown>;
    return { ...rest, losses, dialect: upstream.name };
  };
  const plain = { losses: [], dialect: "chat" };
  // any-llm 1.27.0 and inspect-ai 0.3.285 through their providers for OpenRouter.
  assert.deepEqual(await written({ reasoning: { effort: "low" }, stop: ["END"] }), {
    ...{ ...plain, reasoning_effort: "low", losses: ["stop"] },
  });
  assert.deepEqual(await written({ usage: { include: true } }), plain);
  assert.deepEqual(await written({ reasoning: { enabled: true } }), {
    ...{ ...plain, losses: ["reasoning.enabled"] },
  });
  const wishes = {
    provider: { sort: "price" },
    plugins: [{ id: "web" }],
    route: "fallback",
    transforms: ["middle-out"],
  };
  for (const [name, value] of Object.entries(wishes)) {
    assert.deepEqual(await written({ [name]: value }), { ...plain, losses: [name] }, name);
  }
  for (
    const more of [
      { reasoning: "low" },
      { reasoning: null },
      { usage: true },
      { cache_control: null },
      { provider: "openai" },
      { plugins: "web" },
      { route: null },
    ]
  ) {
    const plan = await planned("vendor-b", more);
    assert.ok(plan.sameDialect, "only OpenRouter's form is translated");
    assert.deepEqual(JSON.parse(plan.requestText), { model: "gpt-5-mini", messages, ...more });
  }
  const tools = [{ type: "function", function: { name: "find" } }];
  deps.prices.chatRefuses = () => ["tools_with_reasoning"];
  for (const reasoning of [{ effort: "low" }, { max_tokens: 2000 }]) {
    assert.equal((await written({ reasoning, tools })).dialect, "responses");
  }
  for (const vendor of ["vendor-a", "vendor-f", "vendor-g"]) {
    const plan = await planned(vendor, { reasoning: { effort: "low" } });
    assert.ok(plan.sameDialect, vendor);
    assert.match(plan.requestText, /"reasoning":\{"effort":"low"\}/);
  }
});

Deno.test("OpenAI's chat endpoint gets no `cache_control`, wherever a chat call has one", async () => {
  const cache_control = { type: "ephemeral" };
  const text = { type: "text", text: "Go" };
  const call = { id: "c", type: "function", function: { name: "find", arguments: "{}" } };
  const question = { role: "user", content: [text] };
  const result = { role: "tool", tool_call_id: "c", content: "found" };
  const called = (tool_call: object) => [
    ...[question, { role: "assistant", tool_calls: [tool_call] }, result],
  ];
  const bodies: [path: string, body: object][] = [
    ["cache_control", { messages: [question], cache_control }],
    ["messages[0].cache_control", { messages: [{ ...question, cache_control }] }],
    ["messages[0].content[0].cache_control", {
      messages: [{ ...question, content: [{ ...text, cache_control }] }],
    }],
    ["messages[1].tool_calls[0].cache_control", {
      messages: called({ ...call, cache_control }),
    }],
    ["tools[0].cache_control", {
      messages: [question],
      tools: [{ type: "function", function: { name: "find" }, cache_control }],
    }],
  ];
  for (const [path, body] of bodies) {
    for (const vendor of ["vendor-b", "vendor-f", "vendor-g"]) {
      const request = requestOf({ model: "m", ...body }, 1, "managed", { dialect: "chat", vendor });
      const { requestText, losses, upstream } = await planCall(planDeps(), request);
      const isSent = vendor !== "vendor-b";
      assert.equal(upstream.name, "chat");
      assert.equal(requestText.includes("cache_control"), isSent, `${vendor}: ${path}`);
      assert.deepEqual(losses, isSent ? [] : [path]);
    }
  }
});

/** Returns a message with a single text in its short form. */
function plainItem(item: { type: string; role: string; content: { text: string }[] }): object {
  return item.type === "message" ? { role: item.role, content: item.content[0]!.text } : item;
}

Deno.test("a signature that the service wrote reaches no vendor, not even in strict mode", async () => {
  const clock = new FakeClock();
  const learned = createLearnedEndpoints({ clock });
  const deps = { clock, dialects, learned, keepAliveMs: 1000 } as unknown as PlanDeps;
  const signatures = ["", callMark("toolu_1"), "c2ln"];
  const contents = signatures.flatMap((thoughtSignature) => [
    { role: "user", parts: [{ text: "Go" }] },
    {
      role: "model",
      parts: [{ functionCall: { name: "f" }, ...(thoughtSignature && { thoughtSignature }) }],
    },
  ]);
  const sent = async (model: string, translationMode: string, quirks?: object) => {
    const request = requestOf({ model, ...{ contents } }, 1, "managed", {
      ...{ dialect: "generate", vendor: "vendor-d", translationMode },
    });
    const { target } = request;
    const vendor = quirks ? { ...target.vendor, quirks } : target.vendor;
    const plan = await planCall(deps, { ...request, target: { ...target, vendor } });
    const { contents: turns } = JSON.parse(plan.requestText);
    return [1, 3, 5].map((index) => turns[index].parts[0].thoughtSignature);
  };
  const skip = "skip_thought_signature_validator";
  const [newer, older] = ["gemini-3.8-flash", "gemini-2.5-flash"] as const;
  assert.deepEqual(await sent(newer, "default"), [skip, skip, "c2ln"]);
  assert.deepEqual(await sent(newer, "strict"), [undefined, skip, "c2ln"]);
  assert.deepEqual(await sent(older, "strict"), [undefined, "", "c2ln"]);
  assert.deepEqual(await sent(older, "default", {}), [undefined, "", "c2ln"], "a custom vendor");
});

Deno.test("a web search goes to the endpoint where the model can search", async () => {
  const searched = {
    ...{ model: "m", max_tokens: 100, messages: [{ role: "user", content: "Go" }] },
    tools: [{ type: "web_search_20250305", name: "web_search" }],
  };
  const asked = { dialect: "messages", vendor: "vendor-g" } as const;
  const row = { rates: { perWebSearch: 1n } };
  const prices = { find: () => row, chatRefuses: () => [] } as unknown as PlanDeps["prices"];
  const deps = { ...planDeps(), prices };
  const planned = (body: { model: string }) => planCall(deps, requestOf(body, 1, "managed", asked));
  const search = await planned(searched);
  assert.deepEqual([search.upstream.name, search.losses], ["responses", []]);
  assert.match(search.requestText, /"tools":\[\{"type":"web_search"/);
  const { tools: _, ...plain } = searched;
  assert.equal((await planned(plain)).upstream.name, "chat");
});

Deno.test("a message with nothing but an unknown part is refused by the part's path", async () => {
  const deps = planDeps();
  // CrewAI sends the parts of chat to the responses endpoint, too.
  const content = [{ type: "text", text: "Go" }];
  const body = { model: "m", input: [{ role: "user", content }] };
  for (const vendor of ["vendor-c", "vendor-d"]) {
    const request = requestOf(body, 1, "managed", { dialect: "responses", vendor });
    const param = "input[0].content[0]";
    const message = /^input\[0\]\.content\[0\]: the type 'text' is unknown, or the vendor/;
    const refused = { code: "unsupported_parameter", param, message };
    await assert.rejects(planCall(deps, request), refused);
  }
});

Deno.test("a tool of OpenRouter's that is refused elsewhere is named, too", async () => {
  const tools = [{ type: "openrouter:datetime" }];
  const body = { model: "m", messages: [{ role: "user", content: "Go" }], tools };
  const request = requestOf(body, 1, "managed", { dialect: "chat", vendor: "vendor-c" });
  const message = /^tools\[0\]: the type 'openrouter:datetime' is unknown, or the vendor/;
  const refused = { code: "unsupported_parameter", param: "tools[0]", message };
  await assert.rejects(planCall(planDeps(), request), refused);
});

Deno.test("values that no vendor allows are refused by the caller's name of the field", async () => {
  const contents = [{ parts: [{ text: "Go" }] }];
  const generate = (generationConfig: object) => ({ model: "m", contents, generationConfig });
  const tools = [{ functionDeclarations: [{ name: "f" }] }];
  const calling = (config: object, offered: unknown = tools) => ({
    ...{ model: "m", contents, tools: offered },
    toolConfig: { functionCallingConfig: config },
  });
  const choice = "toolConfig.functionCallingConfig";
  const rows: [param: string, body: { model: string }][] = [
    ["generationConfig.maxOutputTokens", generate({ maxOutputTokens: 0 })],
    ["generationConfig.maxOutputTokens", generate({ maxOutputTokens: 2.5 })],
    ["generationConfig.topP", generate({ topP: 2 })],
    ["generationConfig.candidateCount", generate({ candidateCount: 0 })],
    [choice, calling({ mode: "ANY", allowedFunctionNames: ["g"] })],
    [choice, calling({ mode: "ANY" }, [])],
  ];
  for (const [param, body] of rows) {
    for (const vendor of ["vendor-a", "vendor-b", "vendor-c"]) {
      const request = requestOf(body, 1, "managed", { dialect: "generate", vendor });
      await assert.rejects(planCall(planDeps(), request), { code: "invalid_value", param }, vendor);
    }
  }
});

Deno.test("a lenient call loses the tool choice of a tool that can't be carried, too", async () => {
  const messages = [{ role: "user", content: "Go" }];
  const fetching = { type: "web_fetch_20250910", name: "web_fetch" };
  const named = { type: "tool", name: "web_fetch" };
  const f = { name: "f", input_schema: { type: "object" } };
  const responses = { model: "m", input: "Go", tools: [{ type: "function", name: "f" }] };
  const allowing = (mode: string, ...names: string[]) => ({
    ...responses,
    tool_choice: {
      ...{ type: "allowed_tools", mode },
      tools: names.map((name) => ({ type: "function", name })),
    },
  });
  const asking = { model: "m", max_tokens: 9, messages, tool_choice: named };
  const forced = { model: "m", messages, tools: [{ type: "browser_search" }] };
  const rows: [DialectName, { model: string }, losses: string[], sent: unknown][] = [
    ["chat", { ...forced, ...{ tool_choice: "required" } }, ["tools[0]", "tool_choice"], undefined],
    [
      "messages",
      { ...asking, ...{ tools: [fetching, f] } },
      ["tools[0]", "tool_choice"],
      undefined,
    ],
    ["responses", allowing("required", "f", "g"), ["tool_choice"], "ANY"],
    ["responses", allowing("auto", "g"), ["tool_choice"], "NONE"],
  ];
  for (const [dialect, body, losses, sent] of rows) {
    const asked = { dialect, vendor: "vendor-d", translationMode: "lenient" };
    const plan = await planCall(planDeps(), requestOf(body, 1, "managed", asked));
    assert.deepEqual(plan.losses, losses);
    const { toolConfig } = JSON.parse(plan.requestText);
    assert.equal(toolConfig?.functionCallingConfig.mode, sent, JSON.stringify(body));
  }
});

Deno.test("a field of another dialect that decides the answer is refused with its name here", async () => {
  const messages = [{ role: "user", content: "Go" }];
  const format = { type: "json_object" };
  const rows: [DialectName, string, { model: string; [field: string]: unknown }, RegExp][] = [
    ["responses", "response_format", { model: "m", input: "Go", response_format: format }, /text/],
    ["responses", "max_tokens", { model: "m", input: "Go", max_tokens: 5 }, /max_output_tokens/],
    ["chat", "system", { model: "m", messages, system: "Be brief." }, /the role 'system'/],
    ["messages", "stop", { model: "m", max_tokens: 5, messages, stop: ["x"] }, /stop_sequences/],
  ];
  for (const [dialect, param, body, instead] of rows) {
    const request = requestOf(body, 1, "managed", { dialect, vendor: "vendor-d" });
    const refused = { code: "unsupported_parameter", param, message: instead };
    await assert.rejects(planCall(planDeps(), request), refused);
    const lenient = { dialect, vendor: "vendor-d", translationMode: "lenient" };
    const { losses } = await planCall(planDeps(), requestOf(body, 1, "managed", lenient));
    assert.deepEqual(losses, [param]);
  }
});

Deno.test("a field of another dialect that changes nothing is no loss, even in strict mode", async () => {
  const messages = [{ role: "user", content: "Go" }];
  const format = { type: "text" };
  const rows: [DialectName, { model: string; [field: string]: unknown }][] = [
    ["responses", { model: "m", input: "Go", response_format: format }],
    ["responses", { model: "m", input: "Go", max_tokens: 5, max_output_tokens: 5 }],
    ["messages", { model: "m", max_tokens: 5, messages, response_format: format }],
    ["chat", { model: "m", messages, stop: ["x"], stop_sequences: ["x"] }],
  ];
  for (const [dialect, body] of rows) {
    const asked = { dialect, vendor: "vendor-d", translationMode: "strict" };
    assert.deepEqual((await planCall(planDeps(), requestOf(body, 1, "managed", asked))).losses, []);
  }
  const [dialect, body] = rows[1]!;
  const asked = { dialect, vendor: "vendor-d", translationMode: "strict" };
  const other = requestOf({ ...body, ...{ max_tokens: 6 } }, 1, "managed", asked);
  await assert.rejects(planCall(planDeps(), other), {
    message: "max_tokens: this endpoint has no such field. Use max_output_tokens.",
  });
});

Deno.test("a field that no endpoint carries doesn't keep a lenient call from the better one", async () => {
  const messages = [{ role: "user", content: "Go" }];
  const body = { model: "m", max_tokens: 5, messages, stop_sequences: ["x"], stop: ["y"] };
  const request = requestOf(body, 1, "managed", { translationMode: "lenient" });
  const { upstream, losses } = await planCall(planDeps(), request);
  assert.deepEqual([upstream.name, losses], ["chat", ["stop"]]);
});

Deno.test("a format or tool choice of an unknown type is named with its type", async () => {
  const messages = [{ role: "user", content: "Go" }];
  const rows = [
    ["response_format", { response_format: { type: "json" } }],
    ["tool_choice", { tool_choice: { type: "any" } }],
  ] as const;
  for (const [param, field] of rows) {
    const body = { model: "m", messages, ...field };
    const request = requestOf(body, 1, "managed", { dialect: "chat", vendor: "vendor-c" });
    const message = new RegExp(`^${param}: the type '(json|any)' is unknown, or the vendor`);
    await assert.rejects(planCall(planDeps(), request), { param, message });
  }
});

/** A request for a vendor: a messages caller's for OpenAI, unless they say otherwise. */
function requestOf(
  body: { model: string },
  accountId: number,
  mode: Mode,
  { dialect = "messages", vendor = "vendor-b", translationMode = "default" }: {
    dialect?: DialectName;
    vendor?: string;
    translationMode?: string;
  } = {},
): PlanRequest {
  const bodyText = JSON.stringify(body);
  return {
    ...{ dialect: dialects[dialect], body, bodyText, mode },
    facts: dialects[dialect].readRequest(body),
    target: { vendor: createRegistry({}, []).find(vendor)!, model: body.model },
    caller: {
      principal: { account: { id: accountId }, key: { translationMode } },
      header: () => undefined,
      arrivedAt: new Date(0),
    },
  } as unknown as PlanRequest;
}

function planDeps(): PlanDeps {
  const clock = new FakeClock();
  return {
    ...{ clock, dialects, learned: createLearnedEndpoints({ clock }), keepAliveMs: 1000 },
    prices: { find: () => undefined, chatRefuses: () => [] },
    storedResponses: { findReasoning: () => Promise.resolve([]) },
  } as unknown as PlanDeps;
}
