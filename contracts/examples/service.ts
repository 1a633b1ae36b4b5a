import { exampleModels } from "./calls.ts";
import type { OperationExamples } from "./example.ts";

/**
 * Returns examples of model lists and health under one prefix, and of endpoints without a prefix.
 */
export function serviceExamples(prefix: string): Readonly<Record<string, OperationExamples>> {
  const label = prefix === "chat" ? "vendor-b" : prefix;
  const healthy = { status: "ok", vendor: label, checked_at: now, latency_ms: 84 };
  const model = {
    id: exampleModels[prefix] ?? "example-model",
    object: "model",
    owned_by: label,
    created: 1754092800,
  };
  const native = { name: `models/${model.id}`, displayName: "GPT-5 mini" };
  return {
    listModels: { answers: { list: { object: "list", data: [model] } } },
    listNativeModels: {
      answers: { list: { object: "list", data: [model], models: [native] } },
    },
    getNativeModel: { params: { model: model.id }, answers: { model: { ...native, ...model } } },
    getModel: { params: { model: model.id }, answers: { model } },
    getHealth: {
      answers: prefix === "chat" ? { ok: { status: "ok", checked_at: now, vendors: [healthy] } } : {
        ok: healthy,
        down: { status: "down", vendor: label, checked_at: now, reason: "no answer in time" },
      },
    },
    getStatus: {
      answers: {
        ok: {
          status: "ok",
          project: "default",
          service: "llm-gateway",
          version: "0.1.0",
          timestamp: now,
          user_id: 1,
          authenticated: true,
          balance_usd: "9.827340000",
          scopes: ["chat", "status"],
          caps: { day: { limit_usd: "5.000000000", charged_usd: "0.021400000" }, month: null },
          rate_limit: { requests_per_minute: 600, burst: 1000 },
        },
      },
    },
    getLivez: { answers: { ok: { status: "ok" } } },
    getReadyz: { answers: { ok: { status: "ok" } } },
    getMetrics: {
      texts: {
        "text/plain":
          '# TYPE gateway_requests_total counter\ngateway_requests_total{route="/chat/v1/chat/completions",status="200"} 17\n',
      },
    },
    getOpenApi: { answers: { document: { openapi: "3.1.0" } } },
    getOpenApi30: { answers: { document: { openapi: "3.0.3" } } },
    getReference: { texts: { "text/html": "<!doctype html>" } },
    getMedia: {
      params: { sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" },
    },
  };
}

const now = "2026-11-21T09:00:00Z";
