/** Fields of a caller's body that no other dialect has a word for are named, wherever they stand. */
import assert from "@std/assert";
import { call, calls, cross, hello, result, tool, user } from "./crossing.ts";
import { type Name, names } from "./translated.ts";

type Json = Record<string, unknown>;

/** A body, and the path by which its foreign field has to be named. */
type Row = readonly [path: string, body: Json];

const image = { type: "image_url", image_url: { url: "https://pictures.example/a.png" } };

const chat: Row[] = [
  ["prediction", { messages: hello, prediction: { type: "content", content: "x" } }],
  ["prompt_cache_key", { messages: hello, prompt_cache_key: "k" }],
  ["prompt_cache_options", { messages: hello, prompt_cache_options: { ttl: "30m" } }],
  ["prompt_cache_retention", { messages: hello, prompt_cache_retention: "24h" }],
  ["moderation", { messages: hello, moderation: { model: "m" } }],
  ["web_search_options", { messages: hello, web_search_options: {} }],
  ["unheard_of", { messages: hello, unheard_of: 1 }],
  ["messages[0].name", { messages: [{ role: "system", content: "S", name: "boss" }, ...hello] }],
  [
    "messages[1].name",
    {
      messages: [
        ...hello,
        { role: "assistant", content: "x", name: "bot" },
        user("y"),
        { role: "assistant", content: "x", name: "other" },
        user("z"),
      ],
    },
  ],
  [
    "messages[1].audio",
    { messages: [...hello, { role: "assistant", content: "x", audio: { id: "a" } }, user("y")] },
  ],
  [
    "messages[0].content[0].prompt_cache_breakpoint",
    {
      messages: [
        user([{ type: "text", text: "x", prompt_cache_breakpoint: { mode: "explicit" } }]),
      ],
    },
  ],
  ["messages[0].unheard_of", { messages: [{ ...user("x"), unheard_of: 1 }] }],
  ["messages[0].content[0].unheard_of", { messages: [user([{ ...image, unheard_of: 1 }])] }],
  ["tools[0]", { messages: hello, tools: [{ type: "browser_search" }] }],
  ["tool_choice", { messages: hello, tools: [tool()], tool_choice: { type: "browser_search" } }],
  ["tools[0].unheard_of", { messages: hello, tools: [{ ...tool(), unheard_of: 1 }] }],
  ["tools[0].function.unheard_of", { messages: hello, tools: [tool("f", { unheard_of: 1 })] }],
  [
    "messages[1].tool_calls[0].unheard_of",
    { messages: [...hello, calls({ ...call("a"), unheard_of: 1 }), result("a", "1")] },
  ],
];

const input = [{ role: "user", content: "hello" }];

const responses: Row[] = [
  ["background", { input, background: true }],
  ["prompt", { input, prompt: { id: "p" } }],
  ["max_tool_calls", { input, max_tool_calls: 3 }],
  ["truncation", { input, truncation: "auto" }],
  ["reasoning.mode", { input, reasoning: { effort: "low", mode: "pro" } }],
  ["include[0]", { input, include: ["web_search_call.results"] }],
  ["tools[0]", { input, tools: [{ type: "web_search" }] }],
  ["tools[0].defer_loading", {
    input,
    tools: [{ type: "function", name: "f", defer_loading: true }],
  }],
  ["tool_choice", { input, tool_choice: { type: "web_search" } }],
  ["text.unheard_of", { input, text: { unheard_of: 1 } }],
  ["input[0].phase", { input: [{ ...input[0], phase: "commentary" }] }],
  [
    "input[1].caller",
    {
      input: [
        ...input,
        {
          type: "function_call",
          call_id: "a",
          name: "f",
          arguments: "{}",
          caller: { type: "direct" },
        },
        { type: "function_call_output", call_id: "a", output: "1" },
      ],
    },
  ],
  ["input[1]", { input: [...input, { type: "web_search_call", id: "ws_1", status: "completed" }] }],
];

const messages: Row[] = [
  ["container", { messages: hello, container: "c" }],
  ["mcp_servers", { messages: hello, mcp_servers: [{ url: "https://x.example" }] }],
  ["speed", { messages: hello, speed: "fast" }],
  ["cache_control", { messages: hello, cache_control: { type: "ephemeral" } }],
  ["metadata.team", { messages: hello, metadata: { team: "t" } }],
  ["tools[0]", { messages: hello, tools: [{ type: "web_search_20250305", name: "web_search" }] }],
  [
    "tools[0].eager_input_streaming",
    { messages: hello, tools: [{ name: "f", input_schema: {}, eager_input_streaming: true }] },
  ],
  [
    "messages[0].content[0].citations.enabled",
    {
      messages: [user([{
        type: "document",
        source: { type: "text", media_type: "text/plain", data: "x" },
        citations: { enabled: true },
      }])],
    },
  ],
  [
    "messages[0].content[0].context",
    {
      messages: [user([{
        type: "document",
        source: { type: "text", media_type: "text/plain", data: "x" },
        context: "c",
      }])],
    },
  ],
  ["messages[0].unheard_of", { messages: [{ ...user("x"), unheard_of: 1 }] }],
  ["thinking.unheard_of", { messages: hello, thinking: { type: "adaptive", unheard_of: 1 } }],
  ["tool_choice.unheard_of", {
    messages: hello,
    tools: [{ name: "f" }],
    tool_choice: { type: "auto", unheard_of: 1 },
  }],
];

const contents = [{ role: "user", parts: [{ text: "hello" }] }];

const generate: Row[] = [
  ["safetySettings", { contents, safetySettings: [{ category: "c", threshold: "OFF" }] }],
  ["cachedContent", { contents, cachedContent: "cachedContents/x" }],
  ["labels", { contents, labels: { a: "b" } }],
  ["generationConfig.speechConfig", { contents, generationConfig: { speechConfig: { a: 1 } } }],
  ["generationConfig.responseModalities", {
    contents,
    generationConfig: { responseModalities: ["IMAGE"] },
  }],
  ["tools[0].googleSearch", { contents, tools: [{ googleSearch: {} }] }],
  ["toolConfig.retrievalConfig", { contents, toolConfig: { retrievalConfig: { a: 1 } } }],
  [
    "contents[0].parts[0].videoMetadata",
    {
      contents: [{
        role: "user",
        parts: [{ text: "x", videoMetadata: { fps: 1 } }],
      }],
    },
  ],
  ["contents[0].parts[0].partMetadata", {
    contents: [{ parts: [{ text: "x", partMetadata: { a: 1 } }] }],
  }],
  ["contents[0].unheard_of", { contents: [{ parts: [{ text: "x" }], unheard_of: 1 }] }],
  ["tools[0].functionDeclarations[0].behavior", {
    contents,
    tools: [{ functionDeclarations: [{ name: "f", behavior: "B" }] }],
  }],
];

const rows: Readonly<Record<Name, readonly Row[]>> = { chat, responses, messages, generate };

for (const from of names) {
  for (const [path, body] of rows[from]) {
    Deno.test(`${from}: ${path} is named wherever it can't be carried`, () => {
      for (const to of names.filter((name) => name !== from)) {
        // The one dialect that has marks of its own.
        if (path.endsWith("prompt_cache_breakpoint") && to === "messages") continue;
        const losses = cross({ from, to, body }).losses.map((loss) => loss.path);
        assert.ok(losses.includes(path), `to ${to}: ${losses.join(", ") || "nothing"} is named`);
      }
    });
  }
}
