import type { RouteConfig, z } from "@hono/zod-openapi";
import { clientHeaders } from "../contracts/kernel/client_headers.ts";
import { errorSchemas } from "../contracts/kernel/common.ts";
import type { Contract } from "../contracts/kernel/contract.ts";
import { errors } from "../contracts/kernel/errors.ts";

/** Returns the generator's input for a contract's operation. */
export function routeConfig(contract: Contract): RouteConfig {
  const content: Record<string, { schema: z.ZodType }> = {};
  if (contract.answer) content["application/json"] = { schema: contract.answer };
  for (const [type, schema] of Object.entries(contract.media ?? {})) content[type] = { schema };
  const responses: RouteConfig["responses"] = {
    [contract.status ?? 200]: { description: contract.summary, content },
  };
  for (const [status, types] of Object.entries(contract.otherStatuses ?? {})) {
    const schemas = Object.entries(types).map(([type, schema]) => [type, { schema }]);
    responses[status] = { description: contract.summary, content: Object.fromEntries(schemas) };
  }
  for (const [status, named] of Map.groupBy(contract.codes, (code) => errors[code].status)) {
    responses[status] = {
      description: named.map((code) => `\`${code}\`: ${errors[code].message}`).join("\n\n"),
      content: { "application/json": { schema: errorSchemas[contract.dialect] } },
    };
  }
  return {
    method: contract.method,
    path: contract.path,
    operationId: contract.operationId,
    summary: contract.summary,
    ...(contract.description === undefined ? {} : { description: contract.description }),
    tags: [contract.tag],
    security: contract.scope === null ? [] : [
      { bearer: [] },
      { apiKeyHeader: [] },
      ...(clientHeaders[contract.dialect].key === undefined ? [] : [{ googApiKeyHeader: [] }]),
    ],
    request: {
      ...(contract.params ? { params: contract.params } : {}),
      ...(contract.query ? { query: contract.query } : {}),
      ...(contract.headers ? { headers: contract.headers } : {}),
      ...(contract.body || contract.form
        ? {
          body: {
            required: true,
            content: {
              ...(contract.form ? { "multipart/form-data": { schema: contract.form } } : {}),
              ...(contract.body ? { "application/json": { schema: contract.body } } : {}),
            },
          },
        }
        : {}),
    },
    responses,
  };
}
