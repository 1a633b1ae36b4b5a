/** Checks of a messages request that go beyond single fields. */
import { asArray, asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { type Medium, mediumFromBase64 } from "./media.ts";
import { checkThinkingBinding } from "./messages_binding.ts";
import { checkSummary } from "./messages_compaction.ts";
import { type MessagesModel } from "./messages_models.ts";
import { invalid, require } from "./messages_problems.ts";
import {
  BLOCKS,
  BLOCKS_OF_ROLE,
  MESSAGE,
  OUTPUT_CONFIG,
  RESULT_BLOCKS,
  SAMPLING,
  SYSTEM_MESSAGE_BETAS,
  THINKING,
  TOOL,
  TOOL_CHOICE,
} from "./messages_rules.ts";
import { checkResultBlock, checkSearchTool, isSearchTool } from "./messages_search.ts";
import { type Rules } from "./rules.ts";

/** Throws a 400 Problem for a message or block that the vendor would refuse. */
export function checkMessages(body: JsonObject, model: MessagesModel, headers: Headers): void {
  const ofSystem = systemRules(headers);
  const messages = asArray(body.messages).map((message, index) => {
    const rules = asObject(message)?.role === "system" ? ofSystem : MESSAGE;
    return require(message, rules, `messages.${index}`);
  });
  if (messages.length === 0) throw invalid("messages", "at least one message is required");
  // A summary stands in place of what it sums up, the caller's first words included.
  const [first] = asArray(messages[0]?.content);
  if (messages[0]?.role !== "user" && asObject(first)?.type !== "compaction") {
    throw invalid("messages", 'first message must use the "user" role');
  }
  messages.forEach((message, index) => checkMessage(message, index, messages, model));
  checkThinkingBinding(body, model);
  checkPairs(messages);
  checkPrefill(messages, model);
  checkThinkingFirst(body, messages);
}

function systemRules(headers: Headers): Rules {
  return { ...MESSAGE, ...rulesByBeta(SYSTEM_MESSAGE_BETAS, headers) };
}

/** Returns the rules of the betas that a request's headers name. */
export function rulesByBeta(table: Readonly<Record<string, Rules>>, headers: Headers): Rules {
  const betas = (headers.get("anthropic-beta") ?? "").split(",").map((one) => one.trim());
  return Object.assign({}, ...betas.map((beta) => table[beta] ?? {}));
}

function checkMessage(
  message: JsonObject,
  index: number,
  messages: JsonObject[],
  model: MessagesModel,
): void {
  const role = asText(message.role);
  const path = `messages.${index}`;
  if (role === "system" && !model.hasMidSystem) {
    throw invalid(path, `role 'system' is not supported on this model`);
  }
  if (role === "system") checkPlace(message, index, messages);
  const last = asText(objectsIn(message.content).at(-1)?.type);
  if (role === "assistant" && last.endsWith("thinking")) {
    throw invalid(path, `The final block in an assistant message cannot be \`${last}\`.`);
  }
  const config = message.output_config
    ? require(message.output_config, { effort: OUTPUT_CONFIG.effort }, `${path}.output_config`)
    : {};
  const setsEffort = asText(config.effort) !== "";
  if (asArray(message.content).length === 0 && asText(message.content) === "" && !setsEffort) {
    if (index < messages.length - 1 || role !== "assistant") {
      throw invalid(path, "all messages must have non-empty content");
    }
  }
  asArray(message.content).forEach((block, place) =>
    checkBlock(block, BLOCKS_OF_ROLE[role] ?? [], `${path}.content.${place}`)
  );
}

/**
 * Checks the place of a `system` message. One without text, which only changes tools or settings,
 * may be anywhere.
 */
function checkPlace(message: JsonObject, index: number, messages: readonly JsonObject[]): void {
  if (asText(message.content) === "" && asText(objectsIn(message.content)[0]?.text) === "") return;
  const before = messages[index - 1];
  const last = asText(objectsIn(before?.content).at(-1)?.type);
  const follows = before?.role === "user" || /^server_tool_use$|.+_tool_result$/.test(last);
  const next = messages[index + 1]?.role ?? "assistant";
  if (!follows || next !== "assistant") {
    throw invalid(
      `messages.${index}`,
      "a `system` message must follow a `user` message and be last or precede an `assistant` one",
    );
  }
}

function checkBlock(
  value: unknown,
  allowed: readonly string[],
  path: string,
): void {
  const type = asText(asObject(value)?.type);
  if (type === "web_search_tool_result") checkResultBlock(asObject(value) ?? {}, path);
  if (type === "compaction") return checkSummary(asObject(value) ?? {}, path);
  if (/^(server_tool_use|container_upload)$|.+_tool_result$/.test(type)) return;
  if (!allowed.includes(type)) {
    throw invalid(
      path,
      `Input tag '${type}' found using 'type' does not match any of the expected`,
    );
  }
  const block = require(value, BLOCKS[type] ?? {}, `${path}.${type}`);
  if (type === "text" && asText(block.text) === "") {
    throw invalid("messages", "text content blocks must be non-empty");
  }
  if (type === "tool_use" && !/^[a-zA-Z0-9_-]+$/.test(asText(block.id))) {
    throw invalid(`${path}.tool_use.id`, "String should match pattern '^[a-zA-Z0-9_-]+$'");
  }
  if (type === "tool_result") {
    asArray(block.content).forEach((inner, place) =>
      checkBlock(inner, RESULT_BLOCKS, `${path}.tool_result.content.${place}`)
    );
  }
  mediaOf([block], path);
}

function checkPairs(messages: readonly JsonObject[]): void {
  const seen = new Set<string>();
  messages.forEach((message, index) => {
    const uses = objectsIn(message.content).filter((block) => block.type === "tool_use")
      .map((block) => asText(block.id));
    const next = leadingResults(messages[index + 1]);
    const open = uses.filter((id) => !next.includes(id));
    if (open.length > 0) {
      throw invalid(
        `messages.${index}`,
        "`tool_use` ids were found without `tool_result` blocks immediately after: " +
          `${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` ` +
          "block in the next message.",
      );
    }
    for (const id of uses) {
      if (seen.has(id)) throw invalid(`messages.${index}`, "`tool_use` ids must be unique");
      seen.add(id);
    }
    const before = objectsIn(messages[index - 1]?.content).map((block) => block.id);
    const stray = objectsIn(message.content).find((block) =>
      block.type === "tool_result" && !before.includes(block.tool_use_id)
    );
    if (stray) {
      throw invalid(
        `messages.${index}`,
        "unexpected `tool_use_id` found in `tool_result` blocks: " +
          `${stray.tool_use_id}. Each \`tool_result\` block must have a corresponding \`tool_use\` ` +
          "block in the previous message.",
      );
    }
  });
}

/** Returns the ids of the results at the start of a user message; later ones don't count. */
function leadingResults(message: JsonObject | undefined): string[] {
  if (message?.role !== "user") return [];
  const blocks = objectsIn(message.content);
  const other = blocks.findIndex((block) => block.type !== "tool_result");
  return blocks.slice(0, other === -1 ? blocks.length : other)
    .map((block) => asText(block.tool_use_id));
}

function checkPrefill(messages: readonly JsonObject[], model: MessagesModel): void {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return;
  if (!model.hasSampling) {
    throw invalid(
      "",
      "This model does not support assistant message prefill. The conversation must end with a " +
        "user message.",
    );
  }
  const text = asText(last.content) || asText(objectsIn(last.content).at(-1)?.text);
  if (/\s$/.test(text)) {
    throw invalid("messages", "final assistant content cannot end with trailing whitespace");
  }
}

function checkThinkingFirst(body: JsonObject, messages: readonly JsonObject[]): void {
  if (asObject(body.thinking)?.type !== "enabled") return;
  const index = messages.findLastIndex((message) => message.role === "assistant");
  const blocks = objectsIn(messages[index]?.content);
  const first = asText(blocks[0]?.type);
  if (!blocks.some((block) => block.type === "tool_use") || first.endsWith("thinking")) return;
  throw invalid(
    `messages.${index}.content.0.type`,
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is ` +
      "enabled, a final `assistant` message must start with a thinking block.",
  );
}

/** Throws a 400 Problem for parameters that this model or API version doesn't accept. */
export function checkParameters(body: JsonObject, model: MessagesModel): void {
  const most = model.maxOutputTokens;
  const maxTokens = asNumber(body.max_tokens) ?? 0;
  if (maxTokens > most) {
    throw invalid(
      "max_tokens",
      `${maxTokens} > ${most}, which is the maximum allowed number of output tokens for ${model.id}`,
    );
  }
  if (asArray(body.stop_sequences).some((stop) => asText(stop).trim() === "")) {
    throw invalid("stop_sequences", "each stop sequence must contain non-whitespace");
  }
  if (body.metadata) require(body.metadata, { user_id: { is: "string" } }, "metadata");
  checkSampling(body, model);
  checkThinking(body, model, maxTokens);
  checkTools(body, model);
  const config = body.output_config
    ? require(body.output_config, OUTPUT_CONFIG, "output_config")
    : {};
  const format = asObject(config.format);
  if (format) checkClosedSchema(format.schema, "output_config.format.schema");
}

function checkSampling(body: JsonObject, model: MessagesModel): void {
  const given = Object.keys(SAMPLING).filter((field) => body[field] !== undefined);
  for (const field of given) {
    const isDefault = field === "temperature" && body.temperature === 1;
    if (!model.hasSampling && !isDefault) {
      throw invalid(field, `\`${field}\` is not supported on this model`);
    }
  }
  if (given.includes("temperature") && given.includes("top_p")) {
    throw invalid("", "`temperature` and `top_p` cannot both be specified for this model");
  }
  const thinks = asObject(body.thinking)?.type === "enabled";
  if (thinks && body.temperature !== undefined && body.temperature !== 1) {
    throw invalid("", "`temperature` may only be set to 1 when thinking is enabled");
  }
}

function checkThinking(body: JsonObject, model: MessagesModel, maxTokens: number): void {
  if (body.thinking === undefined) return;
  const type = asText(asObject(body.thinking)?.type);
  const thinking = require(body.thinking, THINKING[type] ?? {}, "thinking");
  if (!model.thinking.some((known) => known === type)) {
    throw invalid("thinking.type", `"thinking.type.${type}" is not supported for this model`);
  }
  if ((asNumber(thinking.budget_tokens) ?? 0) >= maxTokens && type === "enabled") {
    throw invalid("", "`max_tokens` must be greater than `thinking.budget_tokens`");
  }
}

function checkTools(body: JsonObject, model: MessagesModel): void {
  asArray(body.tools).forEach((value, index) => {
    const type = asObject(value)?.type;
    if (isSearchTool(asObject(value) ?? {})) return checkSearchTool(value, `tools.${index}`);
    if (typeof type === "string" && type !== "custom") return;
    const path = `tools.${index}.custom`;
    const tool = require(value, TOOL, path);
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(asText(tool.name))) {
      throw invalid(`${path}.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
    }
    const schema = asObject(tool.input_schema) ?? {};
    if (schema.oneOf || schema.anyOf || schema.allOf) {
      throw invalid(
        `${path}.input_schema`,
        "input_schema does not support oneOf, allOf, or anyOf at the top level",
      );
    }
    if (schema.type !== "object") {
      throw invalid(`${path}.input_schema.type`, "Input should be 'object'");
    }
    if (tool.strict === true) checkClosedSchema(schema, `${path}.input_schema`);
  });
  if (body.tool_choice === undefined) return;
  const kind = asText(asObject(body.tool_choice)?.type);
  const choice = require(body.tool_choice, TOOL_CHOICE[kind] ?? {}, "tool_choice");
  const tools = objectsIn(body.tools);
  if (tools.length === 0) {
    throw invalid("tool_choice", "tool_choice may only be specified while providing tools");
  }
  if (kind === "tool" && !tools.some((tool) => tool.name === choice.name)) {
    throw invalid("", `Tool '${choice.name}' not found in provided tools`);
  }
  if (kind !== "any" && kind !== "tool") return;
  if (asObject(body.thinking)?.type === "enabled") {
    throw invalid("", "Thinking may not be enabled when tool_choice forces tool use.");
  }
  if (!model.hasForcedTools) {
    throw invalid("tool_choice", `tool_choice "${kind}" is not supported on this model`);
  }
}

const REFUSED_KEYWORDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "not",
  "oneOf",
];

function checkClosedSchema(value: unknown, path: string): void {
  const node = asObject(value);
  if (node === null) return;
  const refused = REFUSED_KEYWORDS.find((keyword) => node[keyword] !== undefined);
  if (refused) {
    throw invalid(path, `For '${node.type}' type, property '${refused}' is not supported`);
  }
  if (node.type === "object" && node.additionalProperties !== false) {
    throw invalid(
      path,
      "For 'object' type, 'additionalProperties' must be explicitly set to false",
    );
  }
  for (const group of ["properties", "$defs", "definitions"]) {
    for (const [name, child] of Object.entries(asObject(node[group]) ?? {})) {
      checkClosedSchema(child, `${path}.${group}.${name}`);
    }
  }
  checkClosedSchema(node.items, `${path}.items`);
  [...asArray(node.anyOf), ...asArray(node.allOf)].forEach((child) =>
    checkClosedSchema(child, path)
  );
}

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Reads the media of some blocks. Throws a 400 Problem for data not of its declared type. */
export function mediaOf(blocks: readonly JsonObject[], path: string): Medium[] {
  return blocks.flatMap((block): Medium[] => {
    const source = asObject(block.source);
    if (source === null) return [];
    const declared = asText(source.media_type);
    if (source.type === "url") {
      return [{ declared, actual: null, bytes: 0, url: asText(source.url) }];
    }
    if (source.type !== "base64") return [];
    if (block.type === "image" && !IMAGE_TYPES.includes(declared)) {
      throw invalid(
        `${path}.image.source.base64.media_type`,
        `Input should be '${IMAGE_TYPES.join("', '")}'`,
      );
    }
    try {
      const medium = mediumFromBase64(asText(source.data), declared);
      if (medium.actual === declared) return [medium];
      throw new RangeError(`The data appears to be ${medium.actual}, not ${declared}`);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw invalid(`${path}.${asText(block.type)}.source.base64.data`, error.message);
    }
  });
}
