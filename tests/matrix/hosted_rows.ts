import type { DialectName } from "../../contracts/calls/vendors.ts";

/** One hosted tool of one vendor, as its own dialect asks for it. */
export interface HostedRow {
  vendor: "vendor-b" | "vendor-c" | "vendor-d" | "vendor-f" | "vendor-g";
  dialect: DialectName;
  /** Fields of the request. */
  more: Readonly<Record<string, unknown>>;
  /** What the service's own key may not pay for, by its path and its name. */
  refused?: { path: string; name: string };
  /** What the vendor reports beside its tokens, and what that costs; absent: nothing. */
  used?: { report: Readonly<Record<string, unknown>>; usd: string };
}

const call = (type: string, more = {}) => ({ type, id: `${type}_1`, status: "completed", ...more });

const responses = (
  vendor: "vendor-b" | "vendor-g",
  tool: Readonly<Record<string, unknown>>,
  rest: Pick<HostedRow, "refused" | "used"> = {},
): HostedRow => ({ vendor, dialect: "responses", more: { tools: [tool] }, ...rest });

const at = (name: string, path = "tools[0]") => ({ refused: { path, name } });

const code = (...containers: string[]) => ({
  output: containers.map((container_id) => call("code_interpreter_call", { container_id })),
});

/** npm openai 7.57.0, `responses.Tool`. Prices: `price_table.ts`. */
const ofVendorB: readonly HostedRow[] = [
  responses("vendor-b", { type: "function", name: "f", parameters: null, strict: null }),
  responses("vendor-b", { type: "custom", name: "f" }),
  responses("vendor-b", { type: "namespace", name: "n", description: "", tools: [] }),
  responses("vendor-b", { type: "tool_search" }),
  responses("vendor-b", { type: "apply_patch" }),
  responses("vendor-b", { type: "local_shell" }),
  responses("vendor-b", { type: "computer" }),
  responses("vendor-b", { type: "computer_use_preview" }),
  responses("vendor-b", { type: "mcp", server_label: "s", server_url: "https://mcp.example" }),
  responses("vendor-b", { type: "mcp", server_label: "s", connector_id: "connector_gmail" }),
  ...[
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
  ].map((type) =>
    responses("vendor-b", { type }, {
      used: { report: { tool_usage: { web_search: { num_requests: 3 } } }, usd: "0.03" },
    })
  ),
  responses("vendor-b", { type: "web_search" }, {
    used: { report: { output: [call("web_search_call"), call("web_search_call")] }, usd: "0.02" },
  }),
  responses("vendor-b", { type: "file_search", vector_store_ids: [] }, {
    used: {
      report: { output: [call("file_search_call"), call("file_search_call")] },
      usd: "0.005",
    },
  }),
  responses(
    "vendor-b",
    { type: "file_search", vector_store_ids: ["vs_1"] },
    at("vector_store_ids", "tools[0].vector_store_ids"),
  ),
  responses("vendor-b", { type: "code_interpreter", container: { type: "auto" } }, {
    used: { report: code("cntr_1", "cntr_1", "cntr_2"), usd: "0.06" },
  }),
  responses(
    "vendor-b",
    { type: "code_interpreter", container: { type: "auto", memory_limit: "16g" } },
    at("code_interpreter"),
  ),
  responses(
    "vendor-b",
    { type: "code_interpreter", container: "cntr_1" },
    at("container", "tools[0].container"),
  ),
  responses(
    "vendor-b",
    { type: "code_interpreter", container: { type: "auto", file_ids: ["file_1"] } },
    at("file_ids", "tools[0].container.file_ids"),
  ),
  responses("vendor-b", { type: "shell", environment: { type: "local" } }),
  responses("vendor-b", { type: "shell", environment: { type: "container_auto" } }, {
    used: {
      report: {
        output: [call("shell_call", {
          environment: { type: "container_reference", container_id: "cntr_7" },
        })],
      },
      usd: "0.03",
    },
  }),
  responses(
    "vendor-b",
    { type: "shell", environment: { type: "container_reference", container_id: "cntr_1" } },
    at("container_id", "tools[0].environment.container_id"),
  ),
  responses("vendor-b", { type: "programmatic_tool_calling" }, at("programmatic_tool_calling")),
  // 1000 × 5 of text, 500 × 8 of pictures in; 2000 × 30 of pictures out; USD a million.
  responses("vendor-b", { type: "image_generation", model: "gpt-image-2" }, {
    used: {
      report: {
        tools: [{ type: "image_generation", model: "gpt-image-2" }],
        tool_usage: {
          image_gen: {
            input_tokens: 1500,
            input_tokens_details: { image_tokens: 500, text_tokens: 1000 },
            output_tokens: 2000,
            output_tokens_details: { image_tokens: 2000, text_tokens: 0 },
            total_tokens: 3500,
          },
        },
      },
      usd: "0.069",
    },
  }),
  responses("vendor-b", { type: "image_generation" }, at("gpt-image-2.6-sunburst")),
  responses(
    "vendor-b",
    { type: "image_generation", model: "gpt-image-2", output_format: "svg" },
    at("image_generation"),
  ),
  responses("vendor-b", { type: "video_generation" }, at("video_generation")),
  {
    vendor: "vendor-b",
    dialect: "responses",
    more: {
      input: [
        { type: "additional_tools", tools: [{ type: "telepathy" }] },
        { role: "user", content: "Hello" },
      ],
    },
    ...at("telepathy", "input[0].tools[0]"),
  },
  {
    vendor: "vendor-b",
    dialect: "responses",
    more: { service_tier: "ultrafast" },
    ...at("ultrafast", "service_tier"),
  },
  // Tokens at double the price, the search as ever.
  {
    vendor: "vendor-b",
    dialect: "responses",
    more: { service_tier: "priority", tools: [{ type: "web_search" }] },
    used: {
      report: { service_tier: "priority", tool_usage: { web_search: { num_requests: 1 } } },
      usd: "0.01 + tokens",
    },
  },
  {
    vendor: "vendor-b",
    dialect: "chat",
    more: { web_search_options: {} },
    // One for each call, whatever usage says.
    used: { report: {}, usd: "0.01" },
  },
  { vendor: "vendor-b", dialect: "chat", more: { tools: [{ type: "x" }] }, ...at("x") },
  {
    vendor: "vendor-b",
    dialect: "chat",
    more: { tools: [{ type: "custom", custom: { name: "f" } }] },
  },
  {
    vendor: "vendor-b",
    dialect: "chat",
    more: { service_tier: "ultrafast" },
    ...at("ultrafast", "service_tier"),
  },
];

const messages = (
  tools: readonly Readonly<Record<string, unknown>>[],
  rest: Partial<HostedRow> = {},
): HostedRow => ({ vendor: "vendor-c", dialect: "messages", more: { tools }, ...rest });

const named = (type: string) => ({ type, name: type.replace(/_\d{8}$/, "") });

/** A conversation that defines a tool on its way, or whose summary does. */
const adding = (definition: Readonly<Record<string, unknown>>, inSummary = false) => {
  const addition = { type: "tool_addition", tool: { type: "tool_definition", definition } };
  const summary = { type: "compaction", content: "So far.", tool_changes: [addition] };
  const hello = { role: "user", content: "Hello" };
  return {
    more: {
      messages: inSummary
        ? [{ role: "assistant", content: [summary] }, hello]
        : [hello, { role: "system", content: [addition] }],
    },
  };
};

/** npm @anthropic-ai/sdk 1.14.0, `BetaToolUnion`. Prices: `price_table.ts`. */
const ofVendorC: readonly HostedRow[] = [
  ...[
    "bash_20241022",
    "bash_20250124",
    "text_editor_20241022",
    "text_editor_20250728",
    "computer_20251124",
    "computer_toolset_20260801",
    "browser_toolset_20260801",
    "memory_20250818",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex_20251119",
    "web_fetch_20250910",
    "web_fetch_20260318",
  ].map((type) => messages([named(type)])),
  messages([{ name: "f", input_schema: { type: "object" } }]),
  messages([{ type: "custom", name: "f", input_schema: { type: "object" } }]),
  messages([{ type: "mcp_toolset", mcp_server_name: "s" }], {
    more: {
      tools: [{ type: "mcp_toolset", mcp_server_name: "s" }],
      mcp_servers: [{ type: "url", name: "s", url: "https://mcp.example" }],
    },
  }),
  ...["web_search_20250305", "web_search_20260209", "web_search_20260318"].map((type) =>
    messages([named(type)], {
      used: {
        report: { server_tool_use: { web_search_requests: 4, web_fetch_requests: 1 } },
        usd: "0.04",
      },
    })
  ),
  ...["20250522", "20250825", "20260120", "20260521"].map((date) =>
    messages([named(`code_execution_${date}`)], at(`code_execution_${date}`))
  ),
  // Code comes free with the newer web tools.
  messages([named("code_execution_20260521"), named("web_fetch_20260209")]),
  messages(
    [named("code_execution_20250825"), named("web_search_20250305")],
    at("code_execution_20250825"),
  ),
  // 1000 × 5 and 100 × 25, USD a million.
  messages([{ ...named("advisor_20260301"), model: "claude-opus-5" }], {
    used: {
      report: {
        iterations: [{
          type: "advisor_message",
          model: "claude-opus-5",
          input_tokens: 1000,
          output_tokens: 100,
        }],
      },
      usd: "0.0075",
    },
  }),
  messages(
    [{ ...named("advisor_20260301"), model: "claude-unheard-of" }],
    at("claude-unheard-of"),
  ),
  messages([named("teleport_20270101")], at("teleport_20270101")),
  messages([], adding({ name: "f", input_schema: { type: "object" } })),
  messages([], {
    ...adding(named("web_search_20250305")),
    used: { report: { server_tool_use: { web_search_requests: 4 } }, usd: "0.04" },
  }),
  messages([], {
    ...adding(named("code_execution_20250825")),
    ...at("code_execution_20250825", "messages[1].content[0].tool.definition"),
  }),
  messages([], {
    ...adding(named("teleport_20270101"), true),
    ...at("teleport_20270101", "messages[0].content[0].tool_changes[0].tool.definition"),
  }),
  messages([], {
    more: { fallbacks: [{ model: "claude-opus-5" }] },
    used: {
      report: {
        iterations: [
          { type: "message", input_tokens: 0, output_tokens: 0 },
          {
            type: "fallback_message",
            model: "claude-opus-5",
            input_tokens: 1000,
            output_tokens: 100,
          },
        ],
      },
      // The fallback's tokens are within the totals: all of them at its price.
      usd: "0.0075 instead",
    },
  }),
  messages([], {
    more: { fallbacks: [{ model: "claude-unheard-of" }] },
    ...at("claude-unheard-of", "fallbacks[0]"),
  }),
  messages([], { more: { container: "container_1" }, ...at("container", "container") }),
  messages([], {
    more: { container: { skills: [{ type: "anthropic", skill_id: "pptx" }] } },
    ...at("container", "container"),
  }),
  messages([], {
    more: { inference_geo: "us" },
    used: { report: { inference_geo: "us" }, usd: "tokens × 1.1" },
  }),
  messages([], { more: { inference_geo: "eu" }, ...at("eu", "inference_geo") }),
  messages([], { more: { inference_geo: "global" } }),
  messages([], { more: { speed: "fast" }, ...at("fast", "speed") }),
];

const generate = (
  tool: Readonly<Record<string, unknown>>,
  rest: Partial<HostedRow> = {},
): HostedRow => ({ vendor: "vendor-d", dialect: "generate", more: { tools: [tool] }, ...rest });

const mapsChunk = { maps: { uri: "https://maps.example/1", title: "A place" } };

/** npm @google/genai 3.1.0, `Tool`. Prices: `price_table.ts`. */
const ofVendorD: readonly HostedRow[] = [
  generate({ functionDeclarations: [{ name: "f" }] }),
  generate({ computerUse: { environment: "ENVIRONMENT_BROWSER" } }),
  generate({ codeExecution: {} }),
  generate({ urlContext: {} }),
  generate({ mcpServers: [{ name: "s" }] }),
  ...[{ googleSearch: {} }, { google_search: {} }, { googleSearchRetrieval: {} }].map((tool) =>
    generate(tool, {
      used: { report: { groundingMetadata: { webSearchQueries: ["a", "b"] } }, usd: "0.028" },
    })
  ),
  ...[{ googleMaps: {} }, { google_maps: {} }].map((tool) =>
    generate(tool, {
      used: {
        report: {
          groundingMetadata: { groundingChunks: [mapsChunk], retrievalQueries: ["a", "b"] },
        },
        usd: "0.028",
      },
    })
  ),
  generate({ googleMaps: {} }, {
    used: { report: { groundingMetadata: { groundingChunks: [mapsChunk] } }, usd: "0.014" },
  }),
  ...["enterpriseWebSearch", "exaAiSearch", "parallelAiSearch", "palmReading"].map((name) =>
    generate({ [name]: {} }, at(name, `tools[0].${name}`))
  ),
  generate(
    { fileSearch: { fileSearchStoreNames: ["fileSearchStores/1"] } },
    at("fileSearch", "tools[0].fileSearch"),
  ),
  generate({ retrieval: { vertexAiSearch: {} } }, at("retrieval", "tools[0].retrieval")),
  generate({}, {
    more: { cachedContent: "cachedContents/1" },
    ...at("cachedContent", "cachedContent"),
  }),
  generate({}, { more: { serviceTier: "ULTRA" }, ...at("ultra", "serviceTier") }),
];

const chat = (
  more: Readonly<Record<string, unknown>>,
  rest: Partial<HostedRow> = {},
): HostedRow => ({
  vendor: "vendor-f",
  dialect: "chat",
  more,
  // What it says it charged is believed: its tools need no price here.
  used: { report: { cost: 0.0325 }, usd: "0.0325 in all" },
  ...rest,
});

/** npm @openrouter/sdk 1.3.19: whatever it runs stands in `usage.cost`. */
const ofVendorF: readonly HostedRow[] = [
  chat({ plugins: [{ id: "web", max_results: 3 }] }),
  chat({ plugins: [{ id: "file-parser", pdf: { engine: "mistral-ocr" } }] }),
  chat({ plugins: [{ id: "something-new" }] }),
  chat({ web_search_options: { search_context_size: "high" } }),
  chat({ tools: [{ type: "openrouter:web_search" }] }),
  chat({ tools: [{ type: "openrouter:fusion" }] }),
  chat({ models: ["openai/gpt-6-luna", "anthropic/claude-sonnet-5"] }),
];

/** docs.x.ai, "Tools Pricing": its responses endpoint runs tools, its chat endpoint searches. */
const ofVendorG: readonly HostedRow[] = [
  ...([
    ["web_search", "web_search_calls", "0.01"],
    ["x_search", "x_search_calls", "0.01"],
    ["code_interpreter", "code_interpreter_calls", "0.01"],
    ["code_execution", "code_interpreter_calls", "0.01"],
    ["file_search", "file_search_calls", "0.005"],
    ["collections_search", "document_search_calls", "0.005"],
  ] as const).map(([type, count, usd]) =>
    responses("vendor-g", { type }, {
      used: { report: { usage: { server_side_tool_usage_details: { [count]: 2 } } }, usd },
    })
  ),
  responses("vendor-g", { type: "mcp", server_url: "https://mcp.example" }),
  responses(
    "vendor-g",
    { type: "file_search", vector_store_ids: ["collection_1"] },
    at("vector_store_ids", "tools[0].vector_store_ids"),
  ),
  responses(
    "vendor-g",
    { type: "collections_search", collection_ids: ["collection_1"] },
    at("collection_ids", "tools[0].collection_ids"),
  ),
  responses("vendor-g", { type: "attachment_search" }, at("attachment_search")),
  responses("vendor-g", { type: "view_image" }, at("view_image")),
  {
    vendor: "vendor-g",
    dialect: "chat",
    more: { search_parameters: { mode: "auto", sources: [{ type: "x" }] } },
    ...at("search_parameters", "search_parameters"),
  },
  { vendor: "vendor-g", dialect: "chat", more: { search_parameters: { mode: "off" } } },
];

/** One object in place of a list, which some vendors take. */
const ofSingleObjects: readonly HostedRow[] = [
  generate({}, {
    more: { tools: { enterpriseWebSearch: {} } },
    ...at("enterpriseWebSearch", "tools[0].enterpriseWebSearch"),
  }),
  { vendor: "vendor-b", dialect: "chat", more: { tools: { type: "x" } }, ...at("x") },
  messages([], { more: { tools: { type: "telepathy_20260101" } }, ...at("telepathy_20260101") }),
  { ...responses("vendor-b", {}), more: { tools: { type: "telepathy" } }, ...at("telepathy") },
];

export const hostedRows: readonly HostedRow[] = [
  ...ofVendorB,
  ...ofVendorC,
  ...ofVendorD,
  ...ofVendorF,
  ...ofVendorG,
  ...ofSingleObjects,
];
