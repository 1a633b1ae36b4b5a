/** What our decoders make of each field that the types of the vendors' libraries have. */
import { chatRequest } from "../../contracts/calls/chat.ts";
import { generateRequest } from "../../contracts/calls/generate.ts";
import { messagesRequest } from "../../contracts/calls/messages.ts";
import { responsesRequest } from "../../contracts/calls/responses.ts";
import { finish } from "../../src/base/steps.ts";
import { Fault } from "../../src/shared/fault.ts";
import { type Json, LibraryTypes, type Sample } from "../support/library_types.ts";
import { fieldChanges, outermost, partKinds } from "./field_changes.ts";
import { dialects, type Name, names } from "./translated.ts";

const openai = libraryFolder("openai");
const anthropic = libraryFolder("@anthropic-ai/sdk");
const google = new URL("..", libraryFolder("@google/genai"));

export const files = {
  chat: new URL("resources/chat/completions/completions.d.ts", openai).pathname,
  responses: new URL("resources/responses/responses.d.ts", openai).pathname,
  messages: new URL("resources/beta/messages/messages.d.ts", anthropic).pathname,
  generate: new URL("genai.d.ts", google).pathname,
} as const;

/** The libraries' types of requests. */
export const requestTypes: Readonly<Record<Name, readonly string[]>> = {
  chat: ["ChatCompletionCreateParamsBase"],
  responses: ["ResponseCreateParamsBase"],
  messages: ["MessageCreateParamsBase"],
  generate: ["GenerateContentConfig", "Content"],
};

/** The libraries' types of whole answers. */
export const answerTypes: Readonly<Record<Name, string>> = {
  chat: "ChatCompletion",
  responses: "Response",
  messages: "BetaMessage",
  generate: "GenerateContentResponse",
};

function libraryFolder(name: string): URL {
  return new URL(".", import.meta.resolve(name));
}

let types: LibraryTypes | undefined;

/** Samples of a type that a dialect's library exports. */
export function samplesOf(dialect: Name, type: string): Sample[] {
  types ??= readTypes();
  return types.samples(files[dialect], type);
}

/**
 * The compiler puts a union's members in the order in which it met them. So the types are walked in
 * one order here: else a sample would depend on which test file comes first.
 */
function readTypes(): LibraryTypes {
  const read = createTypes();
  for (const name of names) {
    for (const type of [answerTypes[name], ...requestTypes[name]]) read.samples(files[name], type);
  }
  return read;
}

function createTypes(): LibraryTypes {
  return new LibraryTypes(Object.values(files), {
    text: sampleText,
    number: sampleNumber,
    exclusive: {
      Part: ["text", ...partKinds],
      FunctionResponsePart: ["inlineData", "fileData"],
      PartialArg: ["stringValue", "numberValue", "boolValue", "nullValue"],
      Delta: ["tool_calls", "function_call"],
      ToolCall: ["function", "custom"],
      ChatCompletionMessage: ["tool_calls", "function_call"],
      ChatCompletionAssistantMessageParam: ["tool_calls", "function_call"],
      File: ["file_data", "file_id"],
      ResponseInputFile: ["file_data", "file_id", "file_url"],
      ResponseInputFileContent: ["file_data", "file_id", "file_url"],
      ResponseInputImage: ["image_url", "file_id"],
      ResponseInputImageContent: ["image_url", "file_id"],
    },
    rare: {
      Part: ["thought"],
      Delta: ["function_call"],
      ChatCompletionMessage: ["function_call", "audio"],
      MessageCreateParamsBase: ["compaction", "thread", "output_format"],
      ChatCompletionCreateParamsBase: ["functions", "function_call", "max_tokens", "user"],
      ResponseCreateParamsBase: ["user"],
      Reasoning: ["generate_summary"],
      InputTokensDetails: ["cache_write_tokens_details"],
      GenerateContentConfig: ["responseSchema"],
      FunctionDeclaration: ["parameters"],
    },
    absent,
  });
}

const absent = {
  // What the libraries add or only they have, and what stands only in answers that failed.
  "*": ["sdkHttpResponse", "httpOptions", "abortSignal", "error", "incomplete_details"],
  GenerateContentResponse: ["automaticFunctionCallingHistory"],
  // `systemInstruction` is a content, too.
  GenerateContentConfig: [
    ...["automaticFunctionCalling", "shouldReturnHttpResponse", "systemInstruction"],
  ],
  // A response repeats what was asked. Their types are those of the request.
  Response: ["output_text", "tools", "instructions", "tool_choice", "prompt"],
  // Tools again, whose types are those of `tools`.
  BetaCompactionBlock: ["tool_changes"],
  BetaCompactionBlockParam: ["tool_changes"],
  BetaToolChangeToolDefinitionParam: ["definition"],
  AdditionalTools: ["tools"],
  ResponseToolSearchOutputItem: ["tools"],
  ResponseToolSearchOutputItemParam: ["tools"],
};

function sampleNumber(field: string): number {
  if (field === "n" || /temperature|top_?p$|candidateCount/i.test(field)) return 1;
  if (/prob/i.test(field)) return -1;
  if (/^end/i.test(field)) return 3;
  if (/^(?:image|text|audio|cached)_/.test(field)) return 100;
  return /^start|index|indices/i.test(field) ? 0 : 1000;
}

function sampleText(field: string): string {
  if (/arguments|input$/.test(field)) return '{"a":1}';
  if (/mime_?type|media_type/i.test(field)) return "image/png";
  if (/url|uri/i.test(field)) return "https://a.example/x.png";
  if (/time|created|expires/i.test(field)) return "2026-11-27T00:00:00Z";
  if (field === "jsonPath") return "$.a";
  if (field === "role") return "user";
  return /^(?:file_)?data$/i.test(field) ? "aGk=" : field;
}

/** How a decoder treats fields, by their paths. */
export interface Treatment {
  /** Nothing changes without these. */
  unread: string[];
  /** Without these, only what is reported as lost changes. */
  lost: string[];
  /** The decoder refuses a value with these. */
  refused: string[];
}

/** What a decoder returns: the canonical form and what it leaves out; undefined if it refuses. */
export type Reading = { form: string; losses: string } | undefined;

export function treatmentOf(
  samples: readonly Sample[],
  read: (value: unknown) => Reading,
): Treatment {
  const found = new Map<string, keyof Treatment | "read">();
  for (const sample of samples) {
    const whole = read(sample.value);
    for (const { path, changed } of fieldChanges(sample)) {
      const before = found.get(path);
      if (before === "read" || (!whole && before !== undefined)) continue;
      const now = whole ? changesIn(whole, changed.map(read)) : "refused";
      if (now !== "unread" || before === undefined || before === "refused") found.set(path, now);
    }
  }
  const those = (kind: string) =>
    outermost([...found].flatMap(([path, now]) => now === kind ? [path] : []));
  return { unread: those("unread"), lost: those("lost"), refused: those("refused") };
}

function changesIn(
  whole: NonNullable<Reading>,
  others: readonly Reading[],
): "read" | "lost" | "unread" {
  if (others.some((one) => one?.form !== whole.form)) return "read";
  return others.some((one) => one?.losses !== whole.losses) ? "lost" : "unread";
}

/** Reads an answer, without what is only passed on to callers of its own dialect. */
export function answerReading(dialect: Name): (value: unknown) => Reading {
  return unlessRefused((value) => {
    const events = finish(dialects[dialect].decodeAnswer(value, {}));
    return { form: JSON.stringify(events, withoutOwn), losses: "" };
  });
}

function unlessRefused(read: (value: unknown) => Reading): (value: unknown) => Reading {
  return (value) => {
    try {
      return read(value);
    } catch (thrown) {
      if (thrown instanceof Fault) return undefined;
      throw thrown;
    }
  };
}

function withoutOwn(name: string, value: unknown): unknown {
  return name === "own" || name === "raw" ? undefined : value;
}

export function requestReading(dialect: Name): (value: unknown) => Reading {
  return unlessRefused((value) => {
    const body = bodyOf(dialect, value);
    if (!contractBodies[dialect].safeParse(body).success) return undefined;
    const { unsupported, ...request } = finish(dialects[dialect].decodeRequest(body));
    return { form: JSON.stringify(request), losses: JSON.stringify(unsupported) };
  });
}

export function bodyOf(dialect: Name, value: unknown): unknown {
  return wholeRequest[dialect](value as Json);
}

/** What a dialect's contract says against these requests. */
export function contractErrors(dialect: Name, samples: readonly Sample[]): string[] {
  const errors = samples.flatMap(({ value }) =>
    contractBodies[dialect].safeParse(bodyOf(dialect, value)).error?.issues ?? []
  );
  return [...new Set(errors.map(({ path, message }) => `${path.join(".")}: ${message}`))];
}

const contractBodies = {
  chat: chatRequest,
  responses: responsesRequest,
  messages: messagesRequest,
  generate: generateRequest,
} as const;

/** Adds what a request with one sample of a conversation needs to be a conversation. */
const wholeRequest: Readonly<Record<Name, (body: Json) => unknown>> = {
  chat: (body) => body,
  responses(body) {
    if (!Array.isArray(body.input)) return body;
    const [item] = body.input as [Json];
    const type = String(item?.type);
    const call = calls[type.replace(/_output$/, "")];
    if (!call || type === "tool_search") return body;
    const id = item.call_id ?? item.id;
    const output = { ...call.output, call_id: id, id: "output" };
    const input = type.endsWith("_output") ? [{ ...call.call, call_id: id }, item] : [item, output];
    return { ...body, input };
  },
  messages(body) {
    const [message] = (body.messages ?? []) as Json[];
    if (!message) return body;
    const [block] = Array.isArray(message.content) ? message.content as [Json] : [];
    const type = String(block?.type);
    if (message.role === "system") return body;
    if (type === "tool_result") {
      const use = { type: "tool_use", id: block!.tool_use_id, name: "f", input: {} };
      const asked = { role: "assistant", content: [use] };
      return { ...body, messages: [asked, { ...message, role: "user" }] };
    }
    const isAnswer = /(?:_use|thinking|_tool_result|compaction|fallback)$/.test(type);
    return { ...body, messages: [{ ...message, role: isAnswer ? "assistant" : "user" }] };
  },
  generate(sample) {
    const contents = [{ role: "user", parts: [{ text: "Hello" }] }];
    if (Array.isArray(sample.parts)) {
      const [part] = sample.parts as [Json];
      const { name, id } = (part.functionResponse ?? {}) as Json;
      const asked = { role: "model", parts: [{ functionCall: { name, id, args: {} } }] };
      return { contents: part.functionResponse ? [asked, sample] : [sample] };
    }
    const members = Object.entries(sample);
    const isSetting = ([name]: [string, unknown]) => !besidesSettings.includes(name);
    return {
      contents,
      ...Object.fromEntries(members.filter((one) => !isSetting(one))),
      generationConfig: Object.fromEntries(members.filter(isSetting)),
    };
  },
};

/** What the library takes out of its `config`. */
const besidesSettings = [
  ...["systemInstruction", "tools", "toolConfig", "safetySettings", "cachedContent", "labels"],
  ...["serviceTier", "modelArmorConfig"],
];

const calls: Readonly<Record<string, { call: Json; output: Json }>> = {
  function_call: {
    call: { type: "function_call", name: "f", arguments: "{}" },
    output: { type: "function_call_output", output: "x" },
  },
  custom_tool_call: {
    call: { type: "custom_tool_call", name: "f", input: "x" },
    output: { type: "custom_tool_call_output", output: "x" },
  },
  shell_call: {
    call: { type: "shell_call", action: { commands: ["ls"] } },
    output: { type: "shell_call_output", output: [] },
  },
  local_shell_call: {
    call: {
      type: "local_shell_call",
      status: "completed",
      action: { type: "exec", command: ["ls"] },
    },
    output: { type: "local_shell_call_output", output: "x" },
  },
  apply_patch_call: {
    call: {
      type: "apply_patch_call",
      status: "completed",
      operation: { type: "delete_file", path: "x" },
    },
    output: { type: "apply_patch_call_output", status: "completed" },
  },
};
