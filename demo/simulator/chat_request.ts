/** Reads and checks a chat completions request, with the messages of the strict vendor. */
import { BODY, FUNCTION, MESSAGES, PARTS, PARTS_OF_ROLE, TOOL_CALL } from "./chat_rules.ts";
import { type ChatVendor } from "./chat_vendor.ts";
import { asArray, asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { type Medium, mediumFromBase64, mediumFromUrl } from "./media.ts";
import { type OfferedTool, type Prompt } from "./model.ts";
import {
  invalid,
  join,
  require,
  requireAnswerSchema,
  requireFunction,
  requireMetadata,
} from "./openai_problems.ts";
import { Problem } from "./problem.ts";
import { type ToolOutcome } from "./prose.ts";
import { type OfferedSearch } from "./web_search.ts";

/** Throws a 400 Problem for a function that has the name of the vendor's own tool. */
export function refuseReserved(
  body: JsonObject,
  { reservedTool }: Pick<ChatVendor, "reservedTool">,
): void {
  const names = objectsIn(body.tools).map((tool) => (asObject(tool.function) ?? tool).name);
  if (reservedTool === undefined || !names.includes(reservedTool)) return;
  const message = `The function name ${reservedTool} is reserved for the ${reservedTool} tool`;
  throw new Problem(400, message, { code: "invalid-argument" });
}

/** Throws a 400 Problem for the first thing that the vendor would refuse. */
export function checkChatRequest(
  body: JsonObject,
  { isStrict, lacksCustomTools = false }: Pick<ChatVendor, "isStrict" | "lacksCustomTools">,
): void {
  require(body, BODY, "", isStrict);
  if (isStrict) requireMetadata(body);
  const modality = asArray(body.modalities).findIndex((one) => one !== "text" && one !== "audio");
  if (isStrict && modality !== -1) {
    throw invalid(
      `modalities[${modality}]`,
      "invalid_value",
      `Invalid value: '${
        asArray(body.modalities)[modality]
      }'. Supported values are: 'text' and 'audio'.`,
    );
  }
  const messages = asArray(body.messages);
  if (messages.length === 0) {
    throw invalid(
      "messages",
      "empty_array",
      "Invalid 'messages': empty array. Expected an array with minimum length 1.",
    );
  }
  messages.forEach((message, index) => checkMessage(message, `messages[${index}]`, isStrict));
  checkOrder(objectsIn(messages));
  checkTools(body, isStrict, lacksCustomTools);
  checkFormat(body, isStrict);
  if (asNumber(body.top_logprobs) !== null && body.logprobs !== true) {
    throw invalid(
      "top_logprobs",
      "invalid_value",
      "'top_logprobs' requires 'logprobs' to be true.",
    );
  }
  if (body.stream_options && body.stream !== true) {
    throw invalid(
      "stream_options",
      "invalid_value",
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    );
  }
  if (asArray(body.stop).length > 4) {
    throw invalid("stop", "array_above_max_length", "Invalid 'stop': array too long (maximum 4).");
  }
}

/** The prompt of a checked request. */
export function readChatPrompt(body: JsonObject, headerNames: string[]): Prompt {
  const messages = objectsIn(body.messages);
  const users = messages.filter((message) => message.role === "user");
  const question = textOf(users.at(-1)?.content);
  const sinceUser = messages.slice(
    messages.findLastIndex((message) => message.role === "user") + 1,
  );
  const names = new Map(
    messages.flatMap((message) => objectsIn(message.tool_calls)).map((call) => [
      call.id,
      asText((asObject(call.function) ?? asObject(call.custom))?.name),
    ]),
  );
  return {
    system: messages.filter((message) => ["system", "developer"].includes(asText(message.role)))
      .map((message) => textOf(message.content)).join("\n"),
    question,
    earlier: users.slice(0, -1).map((message) => textOf(message.content)),
    media: mediaOf(users.at(-1)?.content, "messages"),
    outcomes: outcomesOf(sinceUser, names),
    toolRounds: sinceUser.filter((message) => message.tool_calls || message.function_call).length,
    allToolRounds: messages.filter((one) => one.tool_calls || one.function_call).length,
    tools: offeredTools(body),
    toolMode: toolMode(body),
    mayCallSeveral: body.parallel_tool_calls !== false,
    json: jsonFormat(asObject(body.response_format)),
    reasoningSentences: 0,
    maxTokens: asNumber(body.max_completion_tokens) ?? asNumber(body.max_tokens),
    stop: typeof body.stop === "string" ? [body.stop] : asArray(body.stop).map((s) => asText(s)),
    hasPreamble: false,
    headerNames,
    search: offeredSearch(body),
  };
}

/** Reads the aggregator's search tool; the dialect's own form is for models not simulated here. */
function offeredSearch(body: JsonObject): OfferedSearch | null {
  const tool = objectsIn(body.tools).find(({ type }) => type === "web_search");
  if (!tool || body.tool_choice === "none") return null;
  return {
    isDemanded: body.tool_choice === "required" && objectsIn(body.tools).length === 1,
    maxUses: asNumber(tool.max_uses),
    hosts: asArray(tool.allowed_domains).map((host) => asText(host)),
  };
}

function checkMessage(value: unknown, path: string, isStrict: boolean): void {
  const roleName = asText(asObject(value)?.role);
  const rules = Object.hasOwn(MESSAGES, roleName) ? MESSAGES[roleName] : undefined;
  if (rules === undefined) {
    throw invalid(
      join(path, "role"),
      "invalid_value",
      `Invalid value: '${roleName}'. Supported values are: ${Object.keys(MESSAGES).join(", ")}.`,
    );
  }
  const message = require(value, rules, path, isStrict);
  const calls = asArray(message.tool_calls);
  if (roleName === "assistant" && message.content == null && calls.length === 0) {
    if (!message.function_call && !message.audio && !message.refusal) {
      throw invalid(
        join(path, "content"),
        "invalid_type",
        `Invalid value for 'content': expected a string, got null.`,
      );
    }
  }
  if (message.tool_calls && calls.length === 0) {
    throw invalid(
      join(path, "tool_calls"),
      "empty_array",
      `Invalid '${path}.tool_calls': empty array. Expected an array with minimum length 1.`,
    );
  }
  calls.forEach((call, index) => checkCall(call, `${path}.tool_calls[${index}]`, isStrict));
  if (Array.isArray(message.content)) {
    message.content.forEach((part, index) =>
      checkPart(part, roleName, `${path}.content[${index}]`, isStrict)
    );
  }
}

function checkCall(value: unknown, path: string, isStrict: boolean): void {
  const call = require(value, TOOL_CALL, path, isStrict);
  const kind = asText(call.type);
  const inner = asObject(call[kind]);
  const payload = kind === "custom" ? "input" : "arguments";
  if (!inner || typeof inner.name !== "string" || typeof inner[payload] !== "string") {
    const param = join(path, `${kind}.${payload}`);
    throw invalid(param, "missing_required_parameter", `Missing required parameter: '${param}'.`);
  }
}

function checkPart(value: unknown, roleName: string, path: string, isStrict: boolean): void {
  const type = asText(asObject(value)?.type);
  const allowed = PARTS_OF_ROLE[roleName] ?? ["text"];
  const isLenient = !isStrict && PARTS[type] !== undefined;
  if (!allowed.includes(type) && !isLenient) {
    throw invalid(
      path,
      "invalid_value",
      `Invalid value: '${type}'. Supported values are: ${allowed.map((t) => `'${t}'`).join(", ")}.`,
    );
  }
  const isBareAddress = !isStrict && typeof asObject(value)?.image_url === "string";
  if (!isBareAddress) require(value, PARTS[type] ?? {}, path, isStrict);
  mediaOf([value], path);
}

function checkOrder(messages: JsonObject[]): void {
  let open: string[] = [];
  messages.forEach((message, index) => {
    const path = `messages.[${index}].role`;
    if (message.role === "tool") {
      const id = asText(message.tool_call_id);
      if (!open.includes(id)) {
        throw invalid(
          path,
          "invalid_value",
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding " +
            "message with 'tool_calls'.",
        );
      }
      open = open.filter((other) => other !== id);
      return;
    }
    requireNoneOpen(open, path);
    open = objectsIn(message.tool_calls).map((call) => asText(call.id));
  });
  requireNoneOpen(open, `messages.[${messages.length}].role`);
}

function requireNoneOpen(open: string[], path: string): void {
  if (open.length === 0) return;
  throw invalid(
    path,
    "invalid_value",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each " +
      `'tool_call_id'. The following tool_call_ids did not have response messages: ${
        open.join(", ")
      }`,
  );
}

function checkTools(body: JsonObject, isStrict: boolean, lacksCustomTools: boolean): void {
  const tools = objectsIn(body.tools);
  if (isStrict && body.tools && tools.length === 0) {
    throw invalid("tools", "empty_array", "Invalid 'tools': empty array.");
  }
  tools.forEach((tool, index) => {
    const path = `tools[${index}].function`;
    if (!lacksCustomTools && tool.type === "custom" && asObject(tool.custom)) return;
    if (tool.type === "web_search" && !isStrict) return;
    if (tool.type !== "function") {
      throw invalid(`tools[${index}].type`, "invalid_value", `Invalid value: '${tool.type}'.`);
    }
    const definition = require(tool.function, FUNCTION, path, isStrict);
    if (isStrict) requireFunction(definition, path);
  });
  const hasTools = tools.length > 0;
  for (const field of ["tool_choice", "parallel_tool_calls"]) {
    if (isStrict && !hasTools && body[field] !== undefined && body[field] !== "none") {
      throw invalid(
        field,
        "invalid_value",
        `'${field}' is only allowed when 'tools' are specified.`,
      );
    }
  }
  const wanted = asText((asObject(asObject(body.tool_choice)?.function))?.name);
  if (wanted && !offeredTools(body).some((tool) => tool.name === wanted)) {
    throw invalid(
      "tool_choice",
      "invalid_value",
      `Invalid value for 'tool_choice': no tool named '${wanted}'.`,
    );
  }
}

function checkFormat(body: JsonObject, isStrict: boolean): void {
  const format = asObject(body.response_format);
  if (format === null || format.type === "text") return;
  if (format.type === "json_object") {
    if (isStrict && !/json/i.test(JSON.stringify(body.messages))) {
      throw invalid(
        "messages",
        "invalid_value",
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type " +
          "'json_object'.",
      );
    }
    return;
  }
  const wrapper = asObject(format.json_schema);
  const schema = asObject(wrapper?.schema);
  if (format.type !== "json_schema" || !/^[A-Za-z0-9_-]{1,64}$/.test(asText(wrapper?.name))) {
    throw invalid(
      "response_format.json_schema.name",
      "missing_required_parameter",
      "Missing required parameter: 'response_format.json_schema.name'.",
    );
  }
  if (isStrict && schema) requireAnswerSchema(schema, wrapper ?? {}, "response_format");
}

function offeredTools(body: JsonObject): OfferedTool[] {
  const own = objectsIn(body.tools).filter(({ type }) => type !== "web_search");
  const definitions = own.map((tool) => ({
    definition: asObject(tool.function) ?? asObject(tool.custom) ?? {},
    isFreeText: tool.type === "custom",
  }));
  const legacy = objectsIn(body.functions).map((definition) => ({ definition, isFreeText: false }));
  return [...definitions, ...legacy].map(({ definition, isFreeText }) => ({
    name: asText(definition.name),
    description: asText(definition.description),
    schema: definition.parameters ?? null,
    isFreeText,
  }));
}

function toolMode(body: JsonObject): Prompt["toolMode"] {
  const choice = body.tool_choice ?? body.function_call ?? "auto";
  if (choice === "none") return { kind: "none" };
  if (choice === "required") return { kind: "forced", names: [] };
  const object = asObject(choice);
  if (object === null) return { kind: "auto" };
  const allowed = asObject(object.allowed_tools);
  if (allowed) {
    const names = objectsIn(allowed.tools).map((tool) => asText(asObject(tool.function)?.name));
    return allowed.mode === "required" ? { kind: "forced", names } : { kind: "auto" };
  }
  const named = asObject(object.function) ?? asObject(object.custom) ?? object;
  return { kind: "forced", names: [asText(named.name)] };
}

function jsonFormat(format: JsonObject | null): Prompt["json"] {
  if (format?.type === "json_object") return { schema: null };
  if (format?.type !== "json_schema") return null;
  return { schema: asObject(format.json_schema)?.schema ?? null };
}

function outcomesOf(messages: JsonObject[], names: Map<unknown, string>): ToolOutcome[] {
  const lastCall = messages.findLastIndex((message) => message.tool_calls || message.function_call);
  return messages.slice(lastCall + 1)
    .filter((message) => message.role === "tool" || message.role === "function")
    .map((message) => ({
      name: names.get(message.tool_call_id) ?? asText(message.name),
      text: textOf(message.content),
      isError: false,
      media: mediaOf(message.content, "messages"),
    }));
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsIn(content).map((part) => asText(part.text)).filter((text) => text !== "")
    .join("\n");
}

function mediaOf(content: unknown, path: string): Medium[] {
  try {
    return objectsIn(content).flatMap((part): Medium[] => {
      if (part.type === "image_url") {
        const address = asText(asObject(part.image_url)?.url, asText(part.image_url));
        if (!/^(https?:|data:image\/)/.test(address)) throw new RangeError("Expected a valid URL");
        return [mediumFromUrl(address)];
      }
      const audio = part.type === "input_audio" ? asObject(part.input_audio) : null;
      if (audio) return [mediumFromBase64(asText(audio.data), `audio/${asText(audio.format)}`)];
      const data = part.type === "file" ? asText(asObject(part.file)?.file_data) : "";
      if (data === "") return [];
      return [data.startsWith("data:") ? mediumFromUrl(data) : mediumFromBase64(data, "")];
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalid(path, "invalid_image_url", `Invalid media at '${path}': ${error.message}.`);
  }
}
