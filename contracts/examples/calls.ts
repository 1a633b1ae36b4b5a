import { vendorFamilies } from "../calls/vendors.ts";
import type { OperationExamples } from "./example.ts";

/** Models that the examples use, by family; the unified family needs the provider in front. */
export const exampleModels: Readonly<Record<string, string>> = {
  "chat": "vendor-b/gpt-5-mini",
  "vendor-a": "deepseek-ai/DeepSeek-V4-Flash",
  "vendor-b": "gpt-5-mini",
  "vendor-c": "claude-haiku-4-5",
  "vendor-d": "gemini-2.5-flash",
  "vendor-e": "gemini-2.5-flash",
  "vendor-f": "openai/gpt-5-mini",
  "vendor-g": "grok-4.3",
};

/** Returns examples of model calls under one prefix, by the operation's name without its family. */
export function callExamples(prefix: string): Readonly<Record<string, OperationExamples>> {
  const named = exampleModel(prefix);
  const used = prefix === "chat" ? "gpt-5-mini" : named;
  return {
    createChatCompletion: chat(named, used),
    ...responses(named, used),
    ...messages(named, used),
    ...generate(prefix === "chat" ? "vendor-d/gemini-2.5-flash" : named, used),
  };
}

/** Throws an Error for a family without a model; other prefixes have no calls. */
function exampleModel(prefix: string): string {
  const model = exampleModels[prefix];
  if (model === undefined && vendorFamilies.some(({ label }) => label === prefix)) {
    throw new Error(`contracts/examples/calls.ts has no model of ${prefix}`);
  }
  return model ?? exampleModels.chat!;
}

const question = "/// APP docs\nName the capital of France.";
const prompt = [{ role: "user", content: question }];

function chat(model: string, used: string): OperationExamples {
  const chunk = (delta: object, finish_reason: string | null) => ({
    id: "chatcmpl-7Qk2",
    object: "chat.completion.chunk",
    created: 1795251600,
    model: used,
    choices: [{ index: 0, delta, finish_reason }],
  });
  return {
    requests: {
      whole: { model, messages: prompt },
      streamed: {
        model,
        messages: [{ role: "system", content: "Answer in one word." }, ...prompt],
        stream: true,
        stream_options: { include_usage: true },
        max_completion_tokens: 64,
        user: "user-42",
      },
    },
    answers: {
      whole: {
        id: "chatcmpl-7Qk2",
        object: "chat.completion",
        created: 1795251600,
        model: used,
        choices: [{
          index: 0,
          message: { role: "assistant", content: "Paris." },
          finish_reason: "stop",
        }],
        usage: { prompt_tokens: 13, completion_tokens: 3, total_tokens: 16 },
      },
    },
    events: {
      delta: chunk({ role: "assistant", content: "Par" }, null),
      end: chunk({}, "stop"),
      usage: {
        ...chunk({}, null),
        choices: [],
        usage: { prompt_tokens: 13, completion_tokens: 3, total_tokens: 16 },
      },
    },
  };
}

function responses(model: string, used: string): Readonly<Record<string, OperationExamples>> {
  const id = "resp_0197e0c2a3f07c41";
  const whole = {
    id,
    object: "response",
    created_at: 1795251600,
    status: "completed",
    model: used,
    output: [{
      type: "message",
      id: "msg_0197e0c2",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Paris.", annotations: [] }],
    }],
    usage: { input_tokens: 13, output_tokens: 3, total_tokens: 16 },
  };
  const begun = { ...whole, status: "in_progress", output: [], usage: null };
  return {
    createResponse: {
      requests: {
        first: { model, input: question, max_output_tokens: 64 },
        continued: { model, input: "And of Italy?", previous_response_id: id, stream: true },
        background: { model, input: question, background: true },
      },
      answers: { whole },
      events: {
        begin: { type: "response.created", sequence_number: 0, response: begun },
        delta: {
          type: "response.output_text.delta",
          sequence_number: 4,
          item_id: "msg_0197e0c2",
          output_index: 0,
          content_index: 0,
          delta: "Par",
        },
        end: { type: "response.completed", sequence_number: 9, response: whole },
      },
    },
    compactResponse: {
      requests: { whole: { model, input: question }, stored: { model, previous_response_id: id } },
      answers: { whole: compacted },
    },
    countResponseTokens: {
      requests: { whole: { model, input: question } },
      answers: { whole: { object: "response.input_tokens", input_tokens: 13 } },
    },
    getResponse: {
      params: { response_id: id },
      answers: { whole, running: { ...begun, background: true } },
    },
    listResponseInputItems: {
      params: { response_id: id },
      answers: { whole: inputItems },
    },
    cancelResponse: {
      params: { response_id: id },
      answers: { ended: { ...begun, background: true, status: "cancelled" } },
    },
    deleteResponse: {
      params: { response_id: id },
      answers: { forgotten: { id, object: "response", deleted: true } },
    },
  };
}

const asked = {
  id: "msg_0197e0c1",
  type: "message",
  status: "completed",
  role: "user",
  content: [{ type: "input_text", text: question }],
};

const compacted = {
  id: "resp_0197e0c2a3f07c42",
  object: "response.compaction",
  created_at: 1795251600,
  output: [asked, { id: "cmp_0197e0c3", type: "compaction", encrypted_content: "gwenv1.eyJ2ZXJz" }],
  usage: { input_tokens: 340, output_tokens: 42, total_tokens: 382 },
};

const inputItems = {
  object: "list",
  data: [asked],
  first_id: "msg_0197e0c1",
  last_id: "msg_0197e0c1",
  has_more: false,
};

function messages(model: string, used: string): Readonly<Record<string, OperationExamples>> {
  const message = {
    id: "msg_01XFDUDYJgAACzvnptvVoYEL",
    type: "message",
    role: "assistant",
    model: used,
    content: [{ type: "text", text: "Paris." }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 13, output_tokens: 5 },
  };
  const begun = {
    ...message,
    content: [],
    stop_reason: null,
    usage: { input_tokens: 13, output_tokens: 1 },
  };
  return {
    createMessage: {
      requests: {
        whole: { model, max_tokens: 64, messages: prompt },
        streamed: {
          model,
          max_tokens: 64,
          system: "Answer in one word.",
          messages: prompt,
          stream: true,
          metadata: { user_id: "user-42" },
        },
      },
      answers: { whole: message },
      events: {
        begin: { type: "message_start", message: begun },
        delta: {
          type: "content_block_delta",
          index: 0,
          delta: { type: "text_delta", text: "Par" },
        },
        usage: {
          type: "message_delta",
          delta: { stop_reason: "end_turn", stop_sequence: null },
          usage: { output_tokens: 5 },
        },
        end: { type: "message_stop" },
      },
    },
    countMessageTokens: {
      requests: { whole: { model, messages: prompt } },
      answers: { whole: { input_tokens: 13 } },
    },
  };
}

function generate(model: string, used: string): Readonly<Record<string, OperationExamples>> {
  const params = { model };
  const contents = [{ role: "user", parts: [{ text: question }] }];
  const answer = (text: string, finishReason?: string) => ({
    candidates: [{
      index: 0,
      content: { role: "model", parts: [{ text }] },
      ...(finishReason === undefined ? {} : { finishReason }),
    }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 2, totalTokenCount: 11 },
    modelVersion: used,
  });
  return {
    generateContent: {
      params,
      requests: { whole: { contents, generationConfig: { maxOutputTokens: 64 } } },
      answers: { whole: answer("Paris.", "STOP") },
    },
    streamGenerateContent: {
      params,
      requests: { streamed: { contents } },
      answers: { array: [answer("Par"), answer("is.", "STOP")] },
      events: { delta: answer("Par"), end: answer("is.", "STOP") },
    },
    countTokens: {
      params,
      requests: { whole: { contents } },
      answers: { whole: { totalTokens: 9 } },
    },
  };
}
