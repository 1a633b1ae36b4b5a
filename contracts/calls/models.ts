import { z } from "@hono/zod-openapi";
import { defineContract } from "../kernel/contract.ts";
import { operationName, type VendorFamily } from "./vendors.ts";

const model = z.looseObject({
  id: z.string().describe(
    "`<provider>/<model_name>` in the unified list, or a virtual model's name; else the vendor's name.",
  ),
  object: z.literal("model").describe("Always `model`."),
  owned_by: z.string().describe("The provider's label; `virtual` for a virtual model."),
  created: z.number().int().describe("Unix time in seconds, 0 when that is not known."),
}).openapi("Model");

/** The specification's list; families of other dialects add their own keys beside it. */
export const modelList = z.looseObject({
  object: z.literal("list").describe("Always `list`."),
  data: z.array(model).describe("All models, in one page."),
}).openapi("ModelList");

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
    answer: modelList,
    errors: ["vendor_not_configured", "upstream_error", "upstream_unreachable", "upstream_timeout"],
  });
}

/** `GET /chat/v1/models`: virtual models, and the models of every vendor that has a key. */
export const unifiedModels = defineContract({
  method: "get",
  path: "/chat/v1/models",
  operationId: "listModels",
  summary: "List models of every vendor",
  description:
    "The virtual models of the account and of the service come first. A vendor that does not answer is left out; the others are listed all the same.",
  tag: "chat",
  scope: "chat",
  dialect: "chat",
  answer: modelList,
});
