/** Tools in namespaces towards dialects without them: one name there, both names back. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { CanonicalEvent } from "../../src/dialects/kernel/canonical.ts";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { isRecord } from "../../src/dialects/kernel/json.ts";
import { ResponseRewriter } from "../../src/dialects/kernel/response_rewriter.ts";
import { dialects } from "../../src/dialects/text/mod.ts";
import { Random } from "../support/random.ts";

const others = ["chat", "messages", "generate", "responses"] as const;

/** The names that each dialect's vendors accept. */
const accepted: Readonly<Record<DialectName, RegExp>> = {
  chat: /^[A-Za-z0-9_-]{1,64}$/,
  responses: /^[A-Za-z0-9_-]{1,64}$/,
  messages: /^[A-Za-z0-9_-]{1,128}$/,
  generate: /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/,
};

/** Names that collide when joined, are too long, or hold what no vendor accepts. */
function drawName(random: Random): string {
  const name = random.weighted<() => string>([
    [4, () => random.pick(["a", "b", "a__b", "b__c", "a_", "_b", "c"])],
    [2, () => random.pick(["mcp__github", "mcp__github_", "lookup", "_lookup"])],
    [2, () => "long_".repeat(8 + random.below(12)) + random.pick(["x", "y"])],
    [1, () => random.pick(["köln", "a b", "a.b", "1st", "-x", "__proto__", "constructor"])],
  ])();
  return name;
}

interface Named {
  namespace?: string;
  name: string;
}

function drawTools(random: Random): Named[] {
  const tools: Named[] = [];
  for (let count = 2 + random.below(12); count > 0; count--) {
    const name = drawName(random);
    tools.push(random.chance(60) ? { namespace: drawName(random), name } : { name });
    const { namespace, name: last } = tools.at(-1)!;
    // Its one name, as the name of another tool, or cut in two elsewhere.
    if (namespace !== undefined && random.chance(15)) {
      tools.push({ name: `${namespace}__${last}` });
      tools.push({ namespace: "a", name: `b__${last}` }, { namespace: "a__b", name: last });
    }
  }
  return [...new Map(tools.map((tool) => [JSON.stringify(tool), tool])).values()];
}

function requestOf(tools: readonly Named[], random: Random) {
  const define = ({ name }: Named) => ({
    type: "function",
    name,
    parameters: { type: "object", properties: { q: { type: "string" } } },
  });
  const namespaces = Map.groupBy(
    tools.filter(({ namespace }) => namespace !== undefined),
    ({ namespace }) => namespace!,
  );
  const listed = [
    ...tools.filter(({ namespace }) => namespace === undefined).map(define),
    ...[...namespaces].map(([name, inside]) => ({
      type: "namespace",
      name,
      description: "",
      tools: inside.map(define),
    })),
  ];
  // Some come with the conversation.
  const cut = random.below(listed.length + 1);
  const history = tools.flatMap(({ namespace, name }, index) => [
    {
      type: "function_call",
      call_id: `call_${index}`,
      name,
      arguments: "{}",
      ...(namespace === undefined ? {} : { namespace }),
    },
    { type: "function_call_output", call_id: `call_${index}`, output: "x" },
  ]);
  return {
    model: "m",
    input: [
      { type: "additional_tools", role: "developer", tools: listed.slice(cut) },
      { role: "user", content: "hi" },
      ...history,
    ],
    tools: listed.slice(0, cut),
  };
}

/** Names at the vendor: of the tools, and of the calls in the conversation, in order. */
function sentNames(name: DialectName, body: unknown): { tools: string[]; calls: string[] } {
  const tools: string[] = [];
  const calls: string[] = [];
  const record = body as Record<string, unknown>;
  const take = (
    value: unknown,
    into: string[],
    isNamed: (one: Record<string, unknown>) => boolean,
  ) => {
    if (Array.isArray(value)) { for (const one of value) take(one, into, isNamed); }
    else if (isRecord(value)) {
      if (typeof value.name === "string" && isNamed(value)) into.push(value.name);
      else for (const one of Object.values(value)) take(one, into, isNamed);
    }
  };
  take(record.tools, tools, () => true);
  const isCall: Record<DialectName, (one: Record<string, unknown>) => boolean> = {
    chat: (one) => "arguments" in one,
    responses: (one) => one.type === "function_call",
    messages: (one) => one.type === "tool_use",
    generate: (one) => "args" in one,
  };
  take(record.messages ?? record.input ?? record.contents, calls, isCall[name]);
  return { tools, calls };
}

/** What the caller gets when the vendor calls the tool, whole and streamed. */
function backAt(
  tools: readonly string[],
  emulations: ConstructorParameters<typeof ResponseRewriter>[0],
  namespaces: Parameters<typeof dialects.responses.createStreamEncoder>[0]["request"]["namespaces"],
): Named[][] {
  const events: CanonicalEvent[] = [
    { type: "start", id: "x", model: "m", created: 0 },
    ...tools.flatMap((name, block): CanonicalEvent[] => [
      {
        type: "block-start",
        choice: 0,
        block,
        content: { kind: "tool-call", id: `c_${block}`, name, custom: false },
      },
      { type: "block-delta", choice: 0, block, text: "{}" },
      { type: "block-end", choice: 0, block },
    ]),
    { type: "finish", choice: 0, reason: "tool_calls", raw: "tool_calls" },
  ];
  const rewriter = new ResponseRewriter(emulations, () => "minted");
  const rewritten = events.flatMap((event) => rewriter.apply(event));
  let issued = 0;
  const context = {
    id: (prefix: string) => `${prefix}${issued++}`,
    created: 0,
    model: "m",
    request: namespaces ? { namespaces } : {},
    body: {},
    showUsage: true,
    inputTokens: 1,
  };
  const whole = dialects.responses.encodeAnswer(foldEvents(rewritten), context);
  const encoder = dialects.responses.createStreamEncoder(context);
  const text = rewritten.map((event) => encoder.encode(event)).join("") + encoder.end();
  const done = text.split("\n\n").flatMap((frame) => {
    const data = frame.split("\ndata: ")[1];
    const event = data === undefined ? undefined : JSON.parse(data);
    return event?.type === "response.output_item.done" ? [event.item] : [];
  });
  const named = (items: readonly Record<string, unknown>[]) =>
    items.filter(({ type }) => type === "function_call").map(({ namespace, name }) => ({
      ...(namespace === undefined ? {} : { namespace: String(namespace) }),
      name: String(name),
    }));
  return [named((whole as { output: Record<string, unknown>[] }).output), named(done)];
}

Deno.test("tools in namespaces have one accepted name at every vendor, and both names again in answers", () => {
  let collisions = 0;
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed);
    const tools = drawTools(random);
    const joined = tools.map(({ namespace, name }) =>
      namespace === undefined ? name : `${namespace}__${name}`
    );
    if (new Set(joined).size < joined.length) collisions++;
    const request = finish(dialects.responses.decodeRequest(requestOf(tools, random)));
    assert.equal(request.tools.length, tools.length, `seed ${seed}`);
    for (const name of others) {
      const { body, emulations } = finish(dialects[name].encodeRequest(request, {
        model: "m",
        maxOutputTokens: 4096,
      }));
      const sent = sentNames(name, body);
      const at = `seed ${seed}, ${name}`;
      assert.equal(sent.tools.length, tools.length, at);
      assert.equal(new Set(sent.tools).size, tools.length, `${at}: ${sent.tools}`);
      for (const one of sent.tools) assert.match(one, accepted[name], at);
      // Earlier calls name the same tools.
      assert.deepEqual(sent.calls.toSorted(), sent.tools.toSorted(), at);
      for (const back of backAt(sent.calls, emulations, request.namespaces)) {
        assert.deepEqual(back, tools, at);
      }
    }
  }
  // Or nothing of the rule was tried.
  assert.ok(collisions > 20, `${collisions}`);
});

Deno.test("a namespace's tool is chosen by both names, a whole namespace by its own", () => {
  const parameters = { type: "object", properties: {} };
  const tools = [
    { type: "function", name: "plain", parameters },
    {
      type: "namespace",
      name: "crm",
      description: "Customers.",
      tools: [{ type: "function", name: "find", parameters, defer_loading: true }, {
        type: "custom",
        name: "query",
      }],
    },
  ];
  const read = (tool_choice: unknown) =>
    finish(dialects.responses.decodeRequest({ model: "m", input: "hi", tools, tool_choice }));
  assert.deepEqual(read({ type: "function", namespace: "crm", name: "find" }).toolChoice, {
    mode: "required",
    names: ["crm__find"],
  });
  const allowed = [{ type: "namespace", name: "crm" }, { type: "function", name: "plain" }];
  const choice = { type: "allowed_tools", mode: "auto", tools: allowed };
  assert.deepEqual(read(choice).toolChoice?.names, ["crm__find", "crm__query", "plain"]);
  // What other vendors have no field for is named, with its path.
  assert.deepEqual(read(undefined).unsupported.map(({ path, weight }) => [path, weight]), [
    ["tools[1].description", "hint"],
    ["tools[1].tools[0].defer_loading", "hint"],
  ]);
  assert.throws(
    () =>
      finish(dialects.responses.decodeRequest({
        model: "m",
        input: "hi",
        tools: [{ type: "namespace", name: "x", tools: [{ name: "f" }] }],
      })),
    /tools\[0\]\.tools\[0\]\.type/,
  );
});

Deno.test("tools that items offer count as tools, and a later definition replaces an earlier one", () => {
  const tool = (description: string) => ({
    type: "function",
    name: "f",
    description,
    parameters: { type: "object", properties: {} },
  });
  const request = finish(dialects.responses.decodeRequest({
    model: "m",
    tools: [tool("old"), { type: "web_search" }],
    input: [
      {
        type: "additional_tools",
        role: "developer",
        tools: [tool("new"), { type: "tool_search" }],
      },
      { role: "user", content: "hi" },
    ],
  }));
  assert.deepEqual(request.tools.map(({ description }) => description), ["new"]);
  assert.equal(request.turns.length, 1);
  assert.deepEqual(request.unsupported.map(({ path, weight }) => [path, weight]), [
    ["input[0].tools[1]", "hint"],
  ]);
});
