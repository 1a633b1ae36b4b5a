import { z } from "@hono/zod-openapi";
import { defineContract } from "../kernel/contract.ts";

const ok = z.strictObject({ status: z.literal("ok").describe("Always `ok`.") }).openapi("Alive");

export const livez = defineContract({
  method: "get",
  path: "/livez",
  operationId: "getLivez",
  summary: "Liveness probe",
  tag: "operations",
  scope: null,
  dialect: "service",
  answer: ok,
});

export const readyz = defineContract({
  method: "get",
  path: "/readyz",
  operationId: "getReadyz",
  summary: "Readiness probe",
  tag: "operations",
  scope: null,
  dialect: "service",
  answer: ok,
  errors: ["store_unavailable", "overloaded"],
});

export const metrics = defineContract({
  method: "get",
  path: "/metrics",
  operationId: "getMetrics",
  summary: "Get metrics in the Prometheus text format",
  description: "From loopback, or with `Authorization: Bearer <METRICS_TOKEN>`.",
  tag: "operations",
  scope: null,
  dialect: "service",
  media: { "text/plain": z.string().describe("Metrics, a sample a line.") },
  errors: ["endpoint_not_found"],
});
