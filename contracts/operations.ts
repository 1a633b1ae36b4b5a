import { z } from "@hono/zod-openapi";
import { defineContract } from "./contract.ts";

const ok = z.object({ status: z.literal("ok") }).openapi("Alive");

export const livez = defineContract({
  method: "get",
  path: "/livez",
  operationId: "getLivez",
  summary: "The process is alive",
  tag: "operations",
  scope: null,
  dialect: "service",
  answer: ok,
});

export const readyz = defineContract({
  method: "get",
  path: "/readyz",
  operationId: "getReadyz",
  summary: "The process can take calls: its store answers",
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
  summary: "Metrics in the Prometheus text format",
  description: "From loopback, or with `Authorization: Bearer <METRICS_TOKEN>`.",
  tag: "operations",
  scope: null,
  dialect: "service",
  media: { "text/plain": z.string() },
  errors: ["endpoint_not_found"],
});
