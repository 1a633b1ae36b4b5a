import { z } from "@hono/zod-openapi";
import { labelText, maxEntries, timestampSchema } from "../kernel/common.ts";
import { defineContract, ofAdministration } from "../kernel/contract.ts";
import {
  accountId,
  accountIdFilter,
  accountIdInBody,
  adminPage,
  createdAt,
  pageOf,
  usdAmount,
} from "./fields.ts";

/** Coding agents that a key can be made for. */
export const agentNames = [
  "codex",
  "claude-code",
  "gemini-cli",
  "opencode",
  "aider",
  "cline",
  "cursor",
  "copilot",
  "continue",
  "droid",
  "pi",
] as const;
const recorded = z.enum(["full", "metadata"]);
const onDisconnect = z.enum(["cancel", "drain"]);
const id = z.string().regex(/^[0-9a-f-]{36}$/, "expected the id of a key").describe(
  "Id of the key.",
);
const params = z.object({ id });

const keyFields = {
  id,
  prefix: z.string().describe("First characters of its value, to recognise it by."),
  name: z.string().describe("Name of the key."),
  account_id: accountId,
  scopes: z.array(z.string()).describe("Empty: everything but `admin`."),
  models: z.array(z.string()).describe("Empty: all models."),
  on_disconnect: onDisconnect.describe(
    "What happens to the vendor's call if the caller disconnects.",
  ),
  translation_mode: z.enum(["default", "strict", "lenient"]).describe(
    "What to do with fields that a vendor doesn't support.",
  ),
  prompt_cache: z.boolean().describe("Whether translated calls get cache marks."),
  cache_ttl_seconds: z.number().int().nullable().describe(
    "How long answers are reused; null: only if a call asks for it.",
  ),
  record: recorded.describe("What is recorded of its calls."),
  for: z.string().nullable().describe("Coding agent that it is for; null: none."),
  app: z.string().nullable().describe("App tag of calls without one; null: none."),
  default_model: z.string().nullable().describe(
    "Model to use if the requested one is unknown; null: none.",
  ),
  map: z.record(z.string(), z.string()).describe(
    "Model names and the models that they stand for, for this key.",
  ),
  expected_output_tokens: z.number().int().nullable().describe(
    "Output tokens to reserve credit for; null: the call's maximum.",
  ),
  created_at: createdAt,
  expires_at: timestampSchema.nullable().describe("When it expires; null: never."),
  revoked_at: timestampSchema.nullable().describe("When it was revoked; null: not revoked."),
  cap_day_usd: z.string().nullable().describe(
    "Maximum spend in a day of UTC, in USD.",
  ),
  cap_month_usd: z.string().nullable().describe(
    "Maximum spend in a month of UTC, in USD.",
  ),
};
const key = z.strictObject(keyFields).openapi("ApiKey");

const name = labelText(200).describe("Name: 1 to 200 characters.");
const cap = (span: string) =>
  `Maximum spend in a ${span} of UTC, in USD, as a decimal string such as "2.50"`;

/** Keys of all accounts; a key's value is shown only once, when it is created. */
export const adminKeyContracts = {
  listKeys: defineContract({
    ...ofAdministration("get", "/api/v1/admin/keys", "listApiKeys"),
    summary: "List API keys",
    description: "Includes revoked and expired keys, but never their values.",
    query: z.strictObject({ account_id: accountIdFilter, ...adminPage }),
    answer: pageOf(key, "A page of keys.").openapi("ApiKeyList"),
    errors: ["account_not_found"],
  }),
  createKey: defineContract({
    ...ofAdministration("post", "/api/v1/admin/keys", "createApiKey"),
    summary: "Create an API key",
    description:
      "Its value is shown only once and not stored; so a repeat with the same `X-Request-ID` creates another key.",
    body: z.strictObject({
      name,
      account_id: accountIdInBody,
      scopes: z.array(z.string().max(100)).max(maxEntries.others).optional().describe(
        "What it may call: `chat`, `images`, `speech`, `exports`, `data:delete`, `cohort`, `evals`, `status`, `interactions`, `credits`, a vendor's name or label, and for the first account `admin`. Default: everything but `admin`.",
      ),
      expires: timestampSchema.optional().describe("When it expires, RFC 3339. Default: never."),
      models: z.array(z.string().min(1).max(300)).max(maxEntries.others).optional().describe(
        "The only models that it may call, named as in calls. Default: all.",
      ),
      cap_day_usd: usdAmount.optional().describe(`${cap("day")}. Default: no cap.`),
      cap_month_usd: usdAmount.optional().describe(`${cap("month")}. Default: no cap.`),
      on_disconnect: onDisconnect.optional().describe(
        "What happens to the vendor's call if the caller disconnects: `cancel` ends it, `drain` lets it finish. Default `cancel`.",
      ),
      translation_mode: z.enum(["strict", "lenient"]).optional().describe(
        "What to do with fields that a vendor doesn't support: `strict` refuses, `lenient` drops and names them. Default: hints are dropped, the rest is refused.",
      ),
      prompt_cache: z.boolean().optional().describe(
        "Whether translated calls without cache marks get some if the vendor needs them. Default true.",
      ),
      cache_ttl: z.number().int().min(1).max(86_400).optional().describe(
        "For how many seconds answers are reused, 1 to 86,400. Default: only if a call asks for it.",
      ),
      record: recorded.optional().describe(
        "What is recorded of its calls: `metadata` is usage and cost without any content. Default `full`.",
      ),
      for: z.enum(agentNames).optional().describe(
        "Coding agent that it is for; its name is the default app tag. Default: none.",
      ),
      app: z.string().min(1).max(256).optional().describe(
        "App tag of calls that have none. Default: the agent's name, else none.",
      ),
      default_model: z.string().min(1).max(300).optional().describe(
        "On `/chat/v1`: model to use if the requested one is unknown. Default: the call is refused.",
      ),
      map: z.record(z.string().min(1).max(256), z.string().min(1).max(300)).optional().describe(
        "On `/chat/v1`: names of models that calls use, and the models that they stand for; at most 100. Default: none.",
      ),
      expected_output_tokens: z.number().int().min(1).max(1_000_000).optional().describe(
        "Output tokens to reserve credit for, instead of the call's maximum; needs a cap. Default: the maximum.",
      ),
    }).openapi("NewApiKey"),
    answer: z.strictObject({
      ...keyFields,
      key: z.string().describe("The key itself, shown only once."),
    }).openapi("CreatedApiKey"),
    errors: ["account_not_found"],
  }),
  getKey: defineContract({
    ...ofAdministration("get", "/api/v1/admin/keys/{id}", "getApiKey"),
    summary: "Get an API key",
    params,
    answer: key,
    errors: ["api_key_not_found"],
  }),
  updateKey: defineContract({
    ...ofAdministration("patch", "/api/v1/admin/keys/{id}", "updateApiKey"),
    summary: "Change an API key's name or caps",
    description:
      "Takes effect within a second. What a key without a cap has spent before doesn't count towards a new cap.",
    params,
    body: z.strictObject({
      name: name.optional(),
      cap_day_usd: usdAmount.nullable().optional().describe(`${cap("day")}; null: no cap.`),
      cap_month_usd: usdAmount.nullable().optional().describe(`${cap("month")}; null: no cap.`),
    }).openapi("ApiKeyChange"),
    answer: key,
    errors: ["api_key_not_found"],
  }),
  revokeKey: defineContract({
    ...ofAdministration("delete", "/api/v1/admin/keys/{id}", "revokeApiKey"),
    summary: "Revoke an API key",
    description:
      "The key is refused within a second and stays in the list. Revoking a revoked key changes nothing. A key may revoke itself.",
    params,
    answer: z.strictObject({
      id,
      revoked: z.literal(true).describe("Always true."),
    }).openapi("RevokedApiKey"),
    errors: ["api_key_not_found"],
  }),
};
