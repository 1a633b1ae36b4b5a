import { OpenAPIHono } from "@hono/zod-openapi";
import { cohortComponents } from "../contracts/data/cohort_report.ts";
import type { Contract } from "../contracts/kernel/contract.ts";
import { allContracts } from "../contracts/mod.ts";
import { tags } from "../contracts/kernel/tags.ts";
import {
  commonHeaders,
  commonParameters,
  commonResponses,
  securitySchemes,
} from "./common_parts.ts";
import { describeOperation } from "./describe_operation.ts";
import { errorExamples } from "./error_examples.ts";
import { information } from "./information.ts";
import { mendNullable } from "./older_schemas.ts";
import type { Document } from "./shapes.ts";

export type DocumentVersion = "3.1.0" | "3.0.3";

/**
 * The OpenAPI document, made from the contracts alone: the seven families and what is there once.
 * Families of an operator's own rows have the same paths under their own labels.
 */
export function buildDocument(
  openapi: DocumentVersion,
  version: string,
  contracts: readonly Contract[] = allContracts(),
): Document {
  const document = schemasAndPaths(openapi, version, contracts);
  for (const contract of contracts) {
    const operation = document.paths[contract.path]?.[contract.method];
    if (operation === undefined) throw new Error(`${contract.operationId} has no operation`);
    describeOperation(operation, contract);
  }
  return {
    ...document,
    components: {
      ...document.components,
      parameters: commonParameters,
      headers: commonHeaders,
      responses: commonResponses,
      examples: errorExamples(contracts),
      securitySchemes,
    },
  };
}

function schemasAndPaths(
  openapi: DocumentVersion,
  version: string,
  contracts: readonly Contract[],
): Document {
  const app = new OpenAPIHono();
  // Else the first field that holds one would lend it its own description.
  for (const [name, schema] of Object.entries(cohortComponents)) {
    app.openAPIRegistry.register(name, schema);
  }
  for (const contract of contracts) app.openAPIRegistry.registerPath(contract.route);
  const head = { openapi, ...information(version), tags: [...tags] };
  // As it will be read: plain values, without what is undefined.
  if (openapi === "3.1.0") return JSON.parse(JSON.stringify(app.getOpenAPI31Document(head)));
  return mendNullable(JSON.parse(JSON.stringify(app.getOpenAPIDocument(head))));
}
