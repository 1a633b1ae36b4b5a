import { z } from "@hono/zod-openapi";
import { timestampSchema } from "../kernel/common.ts";
import { defineContract, ofAdministration } from "../kernel/contract.ts";
import {
  accountId,
  accountIdFilter,
  accountIdInBody,
  accountIdInQuery,
  longAdminPage,
  pageOf,
} from "./fields.ts";

const modelName = z.string().min(1).max(200);
const weight = z.number().int().min(1).max(1_000_000);

const target = z.strictObject({
  model: modelName.describe("A model of a vendor, such as `vendor-b/gpt-5-mini` or `gpt-5-mini`."),
  weight: weight.default(1).describe(
    "Share of the calls, relative to the other targets: 1 to 1,000,000. Default 1.",
  ),
}).openapi("VirtualModelTarget");

const targets = z.array(z.union([modelName, target])).min(1).max(20).describe(
  "Models that calls go to, 1 to 20, by weight; a plain name has the weight 1.",
).openapi({ example: [{ model: "vendor-c/claude-sonnet-4-6", weight: 9 }, "gpt-5-mini"] });

const fallbacks = z.array(modelName).max(20);
const stickBy = z.enum(["session", "user"]);

const virtualModel = z.strictObject({
  account_id: z.number().int().nullable().describe(
    "Id of the account; null for models of the service (`MODELS_FILE`).",
  ),
  name: z.string().describe("Name to use in calls."),
  targets: z.array(z.strictObject({
    model: z.string().describe("A model of a vendor."),
    weight: z.number().int().describe("Share of the calls."),
  })).describe("Where calls go."),
  fallbacks: z.array(z.string()).describe("Models to try after all targets failed, in order."),
  stick_by: stickBy.optional().describe(
    "Calls that keep going to the same target; absent: each call is decided separately.",
  ),
  created_at: timestampSchema.nullable().describe("When it was created; null for the service's."),
  updated_at: timestampSchema.nullable().describe(
    "When it was last changed; null for the service's.",
  ),
}).openapi("VirtualModel");

const shared = {
  fallbacks: fallbacks.optional().describe(
    "Models to try after all targets failed, in this order; at most 20. Default none.",
  ),
  stick_by: stickBy.optional().describe(
    "`session`, `user`: calls of the same session or end user go to the same target. Default: each call is decided separately.",
  ),
};

const name = z.string().regex(/^[A-Za-z0-9._:-]{1,100}$/, "expected letters, digits and . _ : -");
const params = z.object({ name: name.describe("Name of the virtual model.") });
const ofAccount = z.strictObject({ account_id: accountIdInQuery });
const at = "/api/v1/admin/models/{name}";

/**
 * Accounts' virtual models; those of the service are listed, but only `MODELS_FILE` changes them.
 */
export const adminModelContracts = {
  listModels: defineContract({
    ...ofAdministration("get", "/api/v1/admin/models", "listVirtualModels"),
    summary: "List virtual models",
    description: "By account and name; without `account_id`, those of the service come first.",
    query: z.strictObject({ account_id: accountIdFilter, ...longAdminPage }),
    answer: pageOf(virtualModel, "A page of virtual models.").openapi("VirtualModelList"),
    errors: ["account_not_found"],
  }),
  createModel: defineContract({
    ...ofAdministration("post", "/api/v1/admin/models", "createVirtualModel"),
    summary: "Create a virtual model",
    description:
      "Takes effect at once in this process and within 5 s in others. An account can have at most 500.",
    body: z.strictObject({
      name: name.describe("Name to use in calls: 1 to 100 letters, digits and `.` `_` `:` `-`."),
      targets,
      ...shared,
      account_id: accountIdInBody,
    }).openapi("NewVirtualModel"),
    answer: virtualModel,
    errors: ["account_not_found", "already_exists"],
  }),
  getModel: defineContract({
    ...ofAdministration("get", at, "getVirtualModel"),
    summary: "Get a virtual model",
    params,
    query: ofAccount,
    answer: virtualModel,
    errors: ["account_not_found", "model_not_found"],
  }),
  updateModel: defineContract({
    ...ofAdministration("patch", at, "updateVirtualModel"),
    summary: "Change a virtual model",
    description: "Fields that are absent stay as they are.",
    params,
    query: ofAccount,
    body: z.strictObject({
      targets: targets.optional(),
      fallbacks: shared.fallbacks,
      stick_by: stickBy.nullable().optional().describe(
        "`session`, `user`; null: each call is decided separately.",
      ),
    }).openapi("VirtualModelChange"),
    answer: virtualModel,
    errors: ["account_not_found", "model_not_found"],
  }),
  deleteModel: defineContract({
    ...ofAdministration("delete", at, "deleteVirtualModel"),
    summary: "Delete a virtual model",
    params,
    query: ofAccount,
    answer: z.strictObject({
      account_id: accountId,
      name: z.string().describe("Name of the virtual model."),
      removed: z.literal(true).describe("Always true."),
    }).openapi("RemovedVirtualModel"),
    errors: ["account_not_found", "model_not_found"],
  }),
};
