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

/** Null for each field whose column may be null, except where a record leaves out the field. */
const absent = Object.fromEntries(
  columns.filter(({ name, read = (value) => value }) =>
    schemas[name] instanceof z.ZodNullable && read(null) === null
  ).map(({ field }) => [field, null]),
);
