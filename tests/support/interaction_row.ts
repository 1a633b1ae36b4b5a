import { z } from "@hono/zod-openapi";
import { interactionRecord } from "../../contracts/data/export_tables.ts";
import { columns } from "../../src/records/columns.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";

/** A record in which everything is absent that may be. */
export function interactionRow(
  transactionId: string,
  more: Partial<SettledCall> = {},
): SettledCall {
  return {
    ...absent as unknown as SettledCall,
    transactionId,
    createdAt: new Date("2026-11-21T09:00:00.123Z"),
    requestId: "req-1",
    accountId: 1,
    apiKeyId: "key-1",
    endpoint: "/chat/v1/chat/completions",
    dialect: "chat",
    vendor: "vendor-b",
    model: "gpt-x",
    requestedModel: "openai/gpt-x",
    mode: "managed",
    stream: false,
    status: "failed",
    costNanos: null,
    chargedNanos: 0n,
    billingBasis: "none",
    usageRawText: null,
    translationLoss: [],
    latencyMs: 5,
    requestText: null,
    responseText: null,
    payloadTruncated: false,
    ...more,
  };
}

const schemas: Readonly<Record<string, z.ZodType>> = interactionRecord.shape;

/** Columns whose fields are absent instead of null. */
const optional: readonly string[] = ["attempts", "cache", "client", "trace_id"];

/** Null for each field whose column may be null, except those of `optional`. */
const absent = Object.fromEntries(
  columns.filter(({ name }) => schemas[name] instanceof z.ZodNullable && !optional.includes(name))
    .map(({ field }) => [field, null]),
);
