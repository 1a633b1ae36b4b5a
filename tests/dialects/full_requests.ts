/** A request of each dialect that uses every object which the dialect's decoder reads. */
import type { Name } from "./translated.ts";

type Json = Record<string, unknown>;

const png = "iVBORw0KGgo=";
const schema = { type: "object", properties: { answer: { type: "string" } } };
const pdfUrl = `data:application/pdf;base64,${btoa("%PDF-1.4")}`;

/** Members with the caller's own content: names in there are not fields of the dialect. */
export const callersOwn = new Set([
  "parameters",
  "parametersJsonSchema",
  "schema",
  "input_schema",
  "responseJsonSchema",
  "args",
  "response",
  "logit_bias",
]);

const chat: Json[] = [{
  messages: [
    { role: "developer", content: [{ type: "text", text: "S" }] },
    {
      role: "user",
      content: [
        { type: "text", text: "Hello", cache_control: { type: "ephemeral" } },
        { type: "image_url", image_url: { url: `data:image/png;base64,${png}`, detail: "low" } },
        { type: "file", file: { filename: "a.pdf", file_data: pdfUrl } },
      ],
    },
    {
      role: "assistant",
      content: [{ type: "text", text: "x" }, { type: "refusal", refusal: "y" }],
      tool_calls: [
        { id: "a", type: "function", function: { name: "f", arguments: "{}" } },
        { id: "b", type: "custom", custom: { name: "g", input: "x" } },
      ],
    },
    { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "1" }] },
    { role: "tool", tool_call_id: "b", content: "2" },
  ],
  tools: [
    { type: "function", function: { name: "f", parameters: schema } },
    { type: "custom", custom: { name: "g", format: { type: "text" } } },
  ],
  tool_choice: {
    type: "allowed_tools",
    allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] },
  },
  response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
  reasoning: { effort: "low" },
  stream: true,
  stream_options: { include_usage: true },
}, {
  messages: [
    { role: "user", content: "Hello" },
    { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
    { role: "function", name: "f", content: "1" },
  ],
  functions: [{ name: "f", parameters: schema }],
  function_call: { name: "f" },
}, {
  messages: [{
    role: "user",
    content: [{ type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }],
  }],
  tools: [{ type: "function", function: { name: "f" } }],
  tool_choice: { type: "function", function: { name: "f" } },
}];

const responses: Json[] = [{
  input: [
    { role: "developer", content: [{ type: "input_text", text: "S" }] },
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "Hello" },
        { type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "low" },
        { type: "input_file", filename: "a.pdf", file_data: pdfUrl },
        { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
      ],
    },
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "s" }],
      content: [{ type: "reasoning_text", text: "t" }],
    },
    {
      type: "message",
      id: "msg_1",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "x", annotations: [], logprobs: [] }, {
        type: "refusal",
        refusal: "y",
      }],
    },
    { type: "function_call", id: "fc_1", call_id: "a", name: "f", arguments: "{}" },
    { type: "custom_tool_call", call_id: "b", name: "g", input: "x" },
    {
      type: "function_call_output",
      call_id: "a",
      output: [{ type: "input_text", text: "1" }],
    },
    { type: "custom_tool_call_output", call_id: "b", output: "2" },
  ],
  text: { format: { type: "json_schema", name: "answer", schema }, verbosity: "low" },
  tools: [
    { type: "function", name: "f", parameters: schema },
    { type: "custom", name: "g", format: { type: "text" } },
  ],
  tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] },
  reasoning: { effort: "low" },
  stream: true,
  stream_options: { include_obfuscation: false },
}, {
  input: "Hello",
  tools: [{ type: "function", name: "f", parameters: null }],
  tool_choice: { type: "function", name: "f" },
}];

const cache_control = { type: "ephemeral", ttl: "1h" };
const pngSource = { type: "base64", media_type: "image/png", data: png };

const messages: Json[] = [{
  max_tokens: 100,
  system: [{ type: "text", text: "S", cache_control }],
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "Hello", cache_control },
        { type: "image", source: pngSource },
        { type: "image", source: { type: "url", url: "https://pictures.example/a.png" } },
        {
          type: "document",
          title: "A",
          source: { type: "text", media_type: "text/plain", data: "x" },
        },
        {
          type: "document",
          source: {
            type: "content",
            content: [{ type: "text", text: "x" }, { type: "image", source: pngSource }],
          },
        },
        {
          type: "search_result",
          title: "T",
          source: "s",
          content: [{ type: "text", text: "x" }],
        },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "t", signature: "sig" },
        { type: "redacted_thinking", data: "d" },
        { type: "compaction", content: "all before" },
        { type: "text", text: "x" },
        { type: "tool_use", id: "a", name: "f", input: {} },
      ],
    },
    {
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: "a",
        content: [{ type: "text", text: "1" }, { type: "image", source: pngSource }],
      }],
    },
  ],
  tools: [{ name: "f", input_schema: schema, cache_control }],
  tool_choice: { type: "auto" },
  thinking: { type: "adaptive" },
  output_config: { effort: "low", format: { type: "json_schema", schema } },
  metadata: { user_id: "u" },
}, {
  max_tokens: 100,
  messages: [{ role: "user", content: "Hello" }],
  output_format: { type: "json_schema", schema },
}];

const generate: Json[] = [{
  systemInstruction: { role: "user", parts: [{ text: "S" }] },
  contents: [
    {
      role: "user",
      parts: [
        { text: "Hello" },
        {
          inlineData: { mimeType: "image/png", data: png },
          mediaResolution: { level: "MEDIA_RESOLUTION_LOW" },
        },
        { fileData: { mimeType: "image/png", fileUri: "https://pictures.example/a.png" } },
      ],
    },
    {
      role: "model",
      parts: [
        { text: "t", thought: true },
        { executableCode: { language: "PYTHON", code: "1" } },
        { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
        { functionCall: { name: "f", args: {} }, thoughtSignature: "c2ln" },
      ],
    },
    {
      role: "user",
      parts: [{
        functionResponse: {
          name: "f",
          response: { output: "1" },
          parts: [{ inlineData: { mimeType: "image/png", data: png } }],
        },
      }],
    },
  ],
  tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: schema }] }],
  toolConfig: { functionCallingConfig: { mode: "AUTO" } },
  generationConfig: { thinkingConfig: { thinkingLevel: "LOW" }, responseJsonSchema: schema },
}, {
  system_instruction: { parts: [{ text: "S" }] },
  contents: [{ parts: [{ inline_data: { mime_type: "image/png", data: png } }] }],
  tools: [{ function_declarations: [{ name: "f" }] }],
  tool_config: { function_calling_config: { mode: "ANY", allowed_function_names: ["f"] } },
  generation_config: { thinking_config: { thinking_budget: 100 } },
}];

export const fullRequests: Readonly<Record<Name, readonly Json[]>> = {
  chat,
  responses,
  messages,
  generate,
};
