/** Checks of a generate request that go beyond single fields. */
import { type GenerateModel } from "./generate_models.ts";
import { PART_DATA } from "./generate_fields.ts";
import { badRequest } from "./generate_proto.ts";
import { asArray, asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { type Medium, mediumFromBase64 } from "./media.ts";
import { type Problem } from "./problem.ts";
import { isSealOf } from "./seals.ts";

const SENTINELS = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/** Throws a 400 Problem for the first thing that the vendor would refuse. */
export function checkGenerate(request: JsonObject, model: GenerateModel): void {
  const contents = objectsIn(request.contents);
  if (contents.length === 0) {
    throw badRequest("* GenerateContentRequest.contents: contents is not specified\n");
  }
  contents.forEach((content, index) => checkContent(content, `contents[${index}]`));
  const system = asObject(request.systemInstruction);
  if (system && objectsIn(system.parts).some((part) => typeof part.text !== "string")) {
    throw badRequest(
      "* GenerateContentRequest.system_instruction: only text parts are supported\n",
    );
  }
  const turns = turnsOf(contents);
  checkTurns(turns);
  if (model.generation >= 3) checkSignatures(turns);
  checkTools(request, model);
  checkConfig(request, model);
}

function checkContent(content: JsonObject, path: string): void {
  const role = asText(content.role, "user");
  if (!["user", "model", "function"].includes(role)) {
    throw badRequest("Please use a valid role: user, model.");
  }
  const parts = objectsIn(content.parts);
  if (parts.length === 0) {
    throw badRequest(`* GenerateContentRequest.${path}.parts: contents.parts must not be empty.\n`);
  }
  parts.forEach((part, index) => {
    const where = `* GenerateContentRequest.${path}.parts[${index}]`;
    const members = PART_DATA.filter((member) => part[member] !== undefined);
    if (members.length !== 1) {
      throw badRequest(
        `${where}.data: required oneof field 'data' must have one initialized field\n`,
      );
    }
    const named = asObject(part.functionCall) ?? asObject(part.functionResponse);
    if (named && asText(named.name) === "") {
      throw badRequest(`${where}.function_response.name: Name cannot be empty.\n`);
    }
  });
  mediaOf(parts, path);
}

/** Joins successive contents of the model to one turn: clients store one per streamed chunk. */
function turnsOf(contents: readonly JsonObject[]): JsonObject[] {
  const turns: JsonObject[] = [];
  for (const content of contents) {
    const last = turns.at(-1);
    if (last?.role === "model" && content.role === "model") {
      turns[turns.length - 1] = {
        ...last,
        parts: [...objectsIn(last.parts), ...objectsIn(content.parts)],
      };
    } else turns.push(content);
  }
  return turns;
}

function checkTurns(contents: readonly JsonObject[]): void {
  contents.forEach((content, index) => {
    const calls = partsOf(content, "functionCall");
    const next = contents[index + 1];
    const answers = next ? partsOf(next, "functionResponse") : [];
    if (calls.length > 0 && answers.length !== calls.length) {
      throw badRequest(
        "Please ensure that the number of function response parts is equal to the number of " +
          "function call parts of the function call turn.",
      );
    }
    const names = calls.map((call) => asText(call.name));
    if (calls.length > 0 && answers.some((answer) => !names.includes(asText(answer.name)))) {
      throw badRequest("Please ensure that each function response has the name of its call.");
    }
    const before = contents[index - 1];
    const hasCallBefore = before !== undefined && partsOf(before, "functionCall").length > 0;
    if (partsOf(content, "functionResponse").length > 0 && !hasCallBefore) {
      throw badRequest(
        "Please ensure that function response turn comes immediately after a function call turn.",
      );
    }
    if (calls.length > 0 && before === undefined) {
      throw badRequest(
        "Please ensure that function call turn comes immediately after a user turn or after a " +
          "function response turn.",
      );
    }
  });
}

/** Returns the text that a call's thought signature is issued for. */
export function signedContent(name: string, args: unknown): string {
  return `${name}(${JSON.stringify(sorted(args ?? {}))})`;
}

function checkSignatures(contents: readonly JsonObject[]): void {
  const current = contents.findLastIndex((content) =>
    content.role !== "model" && partsOf(content, "functionResponse").length === 0
  );
  contents.slice(current + 1).forEach((content, step) => {
    const signed = objectsIn(content.parts).find((part) => part.functionCall);
    if (signed === undefined) return;
    const call = asObject(signed.functionCall) ?? {};
    const place = `content block ${current + step + 2}`;
    if (asText(signed.thoughtSignature) === "") {
      throw badRequest(
        "Function call is missing a thought_signature in functionCall parts. This is required for " +
          `tools to work correctly. Function call \`${call.name}\`, position ${place}.`,
      );
    }
    const isKnown = SENTINELS.includes(asText(signed.thoughtSignature)) ||
      isSealOf(signed.thoughtSignature, "thought", signedContent(asText(call.name), call.args));
    if (!isKnown) throw badRequest(`Thought signature is not valid, position ${place}.`);
  });
}

function checkTools(request: JsonObject, model: GenerateModel): void {
  const declarations = objectsIn(request.tools).flatMap((tool) =>
    objectsIn(tool.functionDeclarations)
  );
  declarations.forEach((declaration, index) => {
    const path = `* GenerateContentRequest.tools[0].function_declarations[${index}]`;
    if (!/^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/.test(asText(declaration.name))) {
      throw badRequest(`${path}.name: Invalid function name. Must start with a letter.\n`);
    }
    if (declaration.parameters && declaration.parametersJsonSchema) {
      throw badRequest(`${path}: parameters and parameters_json_schema are mutually exclusive.\n`);
    }
    const schema = asObject(declaration.parameters);
    if (!schema) return;
    const isEmpty = Object.keys(asObject(schema.properties) ?? {}).length === 0;
    if (model.generation < 3 && schema.type === "OBJECT" && isEmpty) {
      throw badRequest(
        `${path}.parameters.properties: should be non-empty for OBJECT type\n`,
      );
    }
    checkSchema(schema, `${path}.parameters`);
  });
  const calling = asObject(asObject(request.toolConfig)?.functionCallingConfig);
  const mode = asText(calling?.mode, "AUTO");
  const names = asArray(calling?.allowedFunctionNames);
  if (!["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"].includes(mode)) {
    throw badRequest(`Invalid value at 'tool_config.function_calling_config.mode' (TYPE_ENUM)`);
  }
  if (names.length > 0 && (mode === "AUTO" || mode === "NONE")) {
    throw badRequest("allowed_function_names is only supported with mode ANY or VALIDATED.");
  }
  if (names.some((name) => !declarations.some((declaration) => declaration.name === name))) {
    throw badRequest("allowed_function_names holds a function that is not declared.");
  }
}

function checkSchema(node: JsonObject, path: string): void {
  const properties = asObject(node.properties) ?? {};
  for (const name of asArray(node.required)) {
    if (!Object.hasOwn(properties, asText(name))) {
      throw badRequest(`${path}.required[0]: property is not defined\n`);
    }
  }
  if (node.type === "ARRAY" && node.items === undefined) {
    throw badRequest(`${path}.items: missing field.\n`);
  }
  const choices = asArray(node.enum);
  if (choices.includes("")) throw badRequest(`${path}.enum[0]: cannot be empty\n`);
  if (choices.length > 0 && node.type !== undefined && node.type !== "STRING") {
    throw badRequest(`${path}.enum: only allowed for STRING type\n`);
  }
  for (const [name, child] of Object.entries(properties)) {
    checkSchema(asObject(child) ?? {}, `${path}.properties[${name}]`);
  }
  if (node.items) checkSchema(asObject(node.items) ?? {}, `${path}.items`);
  objectsIn(node.anyOf).forEach((child, index) => checkSchema(child, `${path}.any_of[${index}]`));
}

function checkConfig(request: JsonObject, model: GenerateModel): void {
  const config = asObject(request.generationConfig) ?? {};
  const within = (field: string, least: number, most: number) => {
    const value = asNumber(config[field]);
    if (value !== null && (value < least || value > most)) {
      throw badRequest(
        `* GenerateContentRequest.generation_config.${field}: must be in the range ` +
          `[${least}, ${most}].\n`,
      );
    }
  };
  within("temperature", 0, 2);
  within("topP", 0, 1);
  within("candidateCount", 1, 8);
  within("logprobs", 0, 20);
  within("seed", -(2 ** 31), 2 ** 31 - 1);
  within("maxOutputTokens", 1, model.outputTokens);
  if (asArray(config.stopSequences).length > 5) {
    throw badRequest("* GenerateContentRequest.generation_config.stop_sequences: at most 5.\n");
  }
  if (model.generation === 2.5 && (config.presencePenalty || config.frequencyPenalty)) {
    throw badRequest(`Penalty is not enabled for models/${model.id}`);
  }
  if (config.logprobs !== undefined && config.responseLogprobs !== true) {
    throw badRequest("logprobs requires response_logprobs to be true.");
  }
  checkFormat(request, config, model);
  checkThinking(asObject(config.thinkingConfig) ?? {}, model);
}

function checkFormat(request: JsonObject, config: JsonObject, model: GenerateModel): void {
  const hasSchema = config.responseSchema !== undefined || config.responseJsonSchema !== undefined;
  const isJson = config.responseMimeType === "application/json";
  if (config.responseSchema && config.responseJsonSchema) {
    throw badRequest("response_schema and response_json_schema are mutually exclusive.");
  }
  if (hasSchema && !isJson && config.responseMimeType !== "text/x.enum") {
    throw badRequest("Response schema is only supported with mime type application/json.");
  }
  const hasFunctions = objectsIn(request.tools).some((tool) => tool.functionDeclarations);
  if (hasFunctions && objectsIn(request.tools).some((tool) => tool.googleSearch)) {
    if (model.generation < 3) throw badRequest("Tool use with function calling is unsupported");
    if (asObject(request.toolConfig)?.includeServerSideToolInvocations !== true) {
      throw badRequest(
        "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with " +
          "Function calling.",
      );
    }
  }
  if (isJson && hasFunctions && model.generation < 3) {
    throw badRequest(
      "Function calling with a response mime type: 'application/json' is unsupported",
    );
  }
  const schema = asObject(config.responseSchema);
  if (schema) checkSchema(schema, "* GenerateContentRequest.generation_config.response_schema");
}

function checkThinking(thinking: JsonObject, model: GenerateModel): void {
  const budget = asNumber(thinking.thinkingBudget);
  const level = asText(thinking.thinkingLevel).toUpperCase();
  if (budget !== null && level !== "") {
    throw badRequest("You can only set only one of thinking budget and thinking level.");
  }
  if (level !== "" && !model.levels.includes(level)) {
    throw badRequest(`Thinking level ${level} is not supported for this model.`);
  }
  if (budget === null || budget === -1) return;
  if (model.minBudget === null) {
    throw badRequest("Thinking budget is not supported for this model.");
  }
  if (budget < model.minBudget || budget > 32_768) {
    throw badRequest(
      `The thinking budget ${budget} is invalid. Please choose a value between ` +
        `${model.minBudget} and 32768.`,
    );
  }
}

/** Reads the media of some parts. Throws a 400 Problem for data not of its declared type. */
export function mediaOf(parts: readonly JsonObject[], path: string): Medium[] {
  return parts.flatMap((part): Medium[] => {
    const file = asObject(part.fileData);
    if (file) return [{ declared: "", actual: null, bytes: 0, url: asText(file.fileUri) }];
    const blob = asObject(part.inlineData);
    if (blob === null) return [];
    const declared = asText(blob.mimeType);
    try {
      if (declared === "") throw new RangeError("mime_type is required");
      // JSON's mapping of bytes takes both alphabets, and google-genai (Python) writes the second.
      const data = asText(blob.data).replaceAll("-", "+").replaceAll("_", "/");
      const medium = mediumFromBase64(data, declared);
      const isOther = declared.startsWith("image/") && medium.actual !== declared;
      if (isOther) throw new RangeError(`Provided image is not valid ${declared}`);
      return [medium];
    } catch (error) {
      if (error instanceof RangeError) throw unusable(path, error.message);
      throw error;
    }
  });
}

/** Returns the members of this name in a content's parts. */
export function partsOf(content: JsonObject, member: string): JsonObject[] {
  return objectsIn(content.parts).map((part) => asObject(part[member]))
    .filter((value) => value !== null);
}

function unusable(path: string, why: string): Problem {
  return badRequest(`Unable to process input at ${path}: ${why}`);
}

function sorted(value: unknown): unknown {
  const object = asObject(value);
  if (object === null) return Array.isArray(value) ? value.map(sorted) : value;
  return Object.fromEntries(
    Object.keys(object).sort().map((key) => [key, sorted(object[key])]),
  );
}
