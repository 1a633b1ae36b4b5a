import { z } from "@hono/zod-openapi";
import { timestampSchema } from "../kernel/common.ts";
import { defineContract, ofAdministration } from "../kernel/contract.ts";
import {
  accountId,
  accountIdFilter,
  accountIdInBody,
  accountIdInQuery,
  createdAt,
  longAdminPage,
  pageOf,
} from "./fields.ts";

const vendorKey = z.strictObject({
  account_id: accountId,
  vendor: z.string().describe("Label of the vendor, such as `vendor-b`."),
  last_four: z.string().describe("Last characters of its value; empty for a short one."),
  created_at: createdAt,
  changed_at: timestampSchema.describe("When it was last set."),
}).openapi("VendorKey");

const vendor = z.string().regex(/^[A-Za-z0-9_-]{1,60}$/, "expected a vendor's label or alias");
const params = z.object({ vendor: vendor.describe("Label or alias of the vendor.") });
const query = z.strictObject({ account_id: accountIdInQuery });
const at = "/api/v1/admin/vendor-keys/{vendor}";

/** Accounts' own keys at vendors. */
export const adminVendorKeyContracts = {
  listVendorKeys: defineContract({
    ...ofAdministration("get", "/api/v1/admin/vendor-keys", "listVendorKeys"),
    summary: "List vendor keys",
    description: "The stored vendor keys, without their values.",
    query: z.strictObject({ account_id: accountIdFilter, ...longAdminPage }),
    answer: pageOf(vendorKey, "A page of vendor keys, by account and vendor.").openapi(
      "VendorKeyList",
    ),
    errors: ["account_not_found"],
  }),
  setVendorKey: defineContract({
    ...ofAdministration("post", "/api/v1/admin/vendor-keys", "setVendorKey"),
    summary: "Store or replace a vendor key",
    description:
      "The account's calls to the vendor use it from now on and are not charged here. It is encrypted with `MASTER_KEY` and never shown again.",
    body: z.strictObject({
      vendor: vendor.describe(
        "Label or alias of a vendor whose keys may be stored: `openai`, `anthropic`, `google`, `huggingface`.",
      ),
      value: z.string().min(1).max(5000).describe(
        "The key that the vendor issued: at most 4,096 printable ASCII characters, without spaces.",
      ),
      account_id: accountIdInBody,
    }).openapi("NewVendorKey"),
    answer: vendorKey,
    errors: ["account_not_found"],
  }),
  getVendorKey: defineContract({
    ...ofAdministration("get", at, "getVendorKey"),
    summary: "Get a vendor key",
    description: "Its details, but never its value.",
    params,
    query,
    answer: vendorKey,
    errors: ["account_not_found", "vendor_key_not_found"],
  }),
  deleteVendorKey: defineContract({
    ...ofAdministration("delete", at, "deleteVendorKey"),
    summary: "Delete a vendor key",
    description: "The account's calls to the vendor use the service's key and credit from now on.",
    params,
    query,
    answer: z.strictObject({
      account_id: accountId,
      vendor: z.string().describe("Label of the vendor."),
      removed: z.literal(true).describe("Always true."),
    }).openapi("RemovedVendorKey"),
    errors: ["account_not_found", "vendor_key_not_found"],
  }),
};
