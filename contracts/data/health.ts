import { z } from "@hono/zod-openapi";
import { defineContract } from "../kernel/contract.ts";
import { timestampSchema } from "../kernel/common.ts";
import { operationName, type VendorFamily } from "../calls/vendors.ts";

const healthStatus = z.enum(["ok", "degraded", "down"]);

const vendorHealth = z.strictObject({
  status: healthStatus.describe("`degraded`: it answers, but not as it should."),
  vendor: z.string().describe("Label of the vendor."),
  checked_at: timestampSchema.describe("When the vendor was checked."),
  latency_ms: z.number().int().optional().describe(
    "How long the vendor took to answer, in milliseconds.",
  ),
  reason: z.string().optional().describe("Why the status is not `ok`."),
}).openapi("VendorHealth");

const unifiedHealthBody = z.strictObject({
  status: healthStatus.describe("`ok` if every configured vendor is, `down` if all are down."),
  checked_at: timestampSchema.describe("When the vendor was checked."),
  vendors: z.array(vendorHealth).describe("Every vendor that has a key."),
}).openapi("Health");

/** `GET /vendor-x/health`, also available as `/vendor-x/vendor-x/health`. */
export function familyHealth(family: VendorFamily) {
  return defineContract({
    method: "get",
    path: `/${family.label}/health`,
    aliases: [
      `/${family.label}/${family.label}/health`,
      ...family.aliases.flatMap((alias) => [`/${alias}/health`, `/${alias}/${alias}/health`]),
    ],
    operationId: operationName("getHealth", family.label),
    summary: `Check health (${family.name})`,
    description:
      "Always 200. Asks the vendor for its model list at most every ten seconds; never spends tokens.",
    tag: family.label,
    scope: family.label,
    dialect: family.dialects[0] ?? "service",
    answer: vendorHealth,
  });
}

export const unifiedHealth = defineContract({
  method: "get",
  path: "/chat/v1/health",
  operationId: "getHealth",
  summary: "Check health of all vendors",
  tag: "chat",
  scope: "chat",
  dialect: "chat",
  answer: unifiedHealthBody,
});
