import { z } from "@hono/zod-openapi";
import { wholeNumber } from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { operationName, type VendorFamily } from "./vendors.ts";

const model = z.looseObject({
  id: z.string().describe(
    "`<provider>/<model_name>` in the unified list, or a virtual model's name; else the vendor's name.",
  ),
  object: z.literal("model").describe("Always `model`."),
  owned_by: z.string().describe("The provider's label; `virtual` for a virtual model."),
  created: z.number().int().describe("Unix time in seconds; 0 if unknown."),
}).openapi("Model");

/** The list of the specification; families of other dialects add their own keys to it. */
export const modelList = z.looseObject({
  object: z.literal("list").describe("Always `list`."),
  data: z.array(model).describe(
    "All models in one page, unless a client of Anthropic asks for pages.",
  ),
}).openapi("ModelList");

const nativeFields = {
  name: z.string().describe("`models/` and the `id`."),
  displayName: z.string().describe("The model's name for humans."),
};

/** A model of the unified list, with the fields that clients of the generate dialect read. */
const nativeModel = z.looseObject({ ...model.shape, ...nativeFields }).openapi("NativeModel");

const nativeModelList = z.looseObject({
  ...modelList.shape,
  models: z.array(z.looseObject(nativeFields).openapi("NativeModelFields")).describe(
    "The same models in the dialect's own form; vendors that speak it add their fields.",
  ),
}).openapi("NativeModelList");

/** How clients of the messages dialect ask for a page. */
export const modelPage = z.object({
  limit: wholeNumber({ minimum: 1, maximum: 1000 }).optional().describe(
    "Maximum models per page, for clients of Anthropic. Default: all models.",
  ),
  after_id: z.string().optional().describe(
    "Id of the model after which the page begins, for clients of Anthropic.",
  ),
  before_id: z.string().optional().describe(
    "Id of the model before which the page ends, for clients of Anthropic.",
  ),
});

/**
 * Matches a model's name, which may hold slashes, but not one with a method of a model, such as
 * `:generateContent`: that is another endpoint, for POST.
 */
const modelInPath = ":model{(?:(?!:(?:\\w+Contents?|countTokens|predict)$)[^])+}";

const modelParams = z.object({
  model: z.string().min(1).max(256).describe("Name of the model, as listed."),
});

/** Errors of endpoints that ask one vendor for its list. */
const listErrors = [
  ...["vendor_not_configured", "invalid_vendor_api_key"] as const,
  ...["upstream_error", "upstream_unreachable", "upstream_timeout"] as const,
];
const modelErrors = ["model_not_found" as const, ...listErrors];

const unified = { method: "get", tag: "chat", scope: "chat" } as const;

/** `GET …/v1/models/{model}` of one vendor's family. */
export function familyModel(family: VendorFamily) {
  const versions = family.dialects.includes("generate") ? ["v1", "v1beta"] : ["v1"];
  const paths = [family.label, ...family.aliases].flatMap((prefix) =>
    versions.map((version) => `/${prefix}/${version}/models/`)
  );
  return defineContract({
    method: "get",
    path: `${paths[0]}{model}`,
    aliases: paths.slice(1).map((path) => `${path}{model}`),
    mounts: paths.map((path) => path + modelInPath),
    operationId: operationName("getModel", family.label),
    summary: `Get a model (${family.name})`,
    tag: family.label,
    scope: family.label,
    dialect: family.dialects[0] ?? "service",
    params: modelParams,
    answer: model,
    errors: modelErrors,
  });
}

/** `GET /chat/v1/models/{model}`: a virtual model, or a model of any vendor that has a key. */
export const unifiedModel = defineContract({
  ...unified,
  path: "/chat/v1/models/{model}",
  mounts: [`/chat/v1/models/${modelInPath}`],
  operationId: "getModel",
  summary: "Get a model",
  description:
    "By the name that calls use: `<provider>/<model_name>`, a virtual model's, or a name that one vendor has as its own. With the header `x-goog-api-key`, as `/chat/v1beta/models/{model}`; with `anthropic-version`, with the fields that `@anthropic-ai/sdk` reads.",
  dialect: "chat",
  params: modelParams,
  answer: model,
  errors: modelErrors,
});

/** `GET /chat/v1beta/models/{model}`: the same for clients of the generate dialect. */
export const unifiedNativeModel = defineContract({
  ...unified,
  path: "/chat/v1beta/models/{model}",
  mounts: [`/chat/v1beta/models/${modelInPath}`],
  operationId: "getNativeModel",
  summary: "Get a model for clients of Google",
  description: "As `/chat/v1/models/{model}`, with the fields that `@google/genai` reads.",
  dialect: "generate",
  params: modelParams,
  answer: nativeModel,
  errors: modelErrors,
});

/** `GET …/v1/models` of one vendor's family. */
export function familyModels(family: VendorFamily) {
  const generate = family.dialects.includes("generate");
  const prefixes = [family.label, ...family.aliases];
  return defineContract({
    method: "get",
    path: `/${family.label}/v1/models`,
    aliases: prefixes.flatMap((prefix) => [
      ...(prefix === family.label ? [] : [`/${prefix}/v1/models`]),
      ...(generate ? [`/${prefix}/v1beta/models`] : []),
    ]),
    operationId: operationName("listModels", family.label),
    summary: `List models (${family.name})`,
    tag: family.label,
    scope: family.label,
    dialect: family.dialects[0] ?? "service",
    query: family.dialects.includes("messages") ? modelPage : undefined,
    answer: modelList,
    errors: listErrors,
  });
}

/** `GET /chat/v1/models`: virtual models, and the models of every vendor that has a key. */
export const unifiedModels = defineContract({
  ...unified,
  path: "/chat/v1/models",
  operationId: "listModels",
  summary: "List models",
  description:
    "The virtual models of the account and of the service come first. A vendor that does not answer is left out. If the service has no key for a vendor, the account's stored key is used. With the header `x-goog-api-key`, as `/chat/v1beta/models`; with `anthropic-version`, with the fields that `@anthropic-ai/sdk` reads, and in pages if it asks for them.",
  dialect: "chat",
  query: modelPage,
  answer: modelList,
});

/** `GET /chat/v1beta/models`: the same for clients of the generate dialect. */
export const unifiedNativeModels = defineContract({
  ...unified,
  path: "/chat/v1beta/models",
  operationId: "listNativeModels",
  summary: "List models for clients of Google",
  description:
    "As `/chat/v1/models`, with the list that `@google/genai` reads. All models are in one page.",
  dialect: "generate",
  answer: nativeModelList,
});
