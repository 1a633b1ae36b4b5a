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
import { routeConfig } from "./route_config.ts";
import type { Document } from "./shapes.ts";

export type DocumentVersion = "3.1.0" | "3.0.3";

/**
 * Builds the OpenAPI document from the contracts alone: the seven families, and the operations that
 * exist once. Vendors that an operator adds have the same paths under their own labels.
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
  // Otherwise a component would get the description of the first field that uses it.
  for (const [name, schema] of Object.entries(cohortComponents)) {
    app.openAPIRegistry.register(name, schema);
  }
  for (const contract of contracts) app.openAPIRegistry.registerPath(routeConfig(contract));
  const head = { openapi, ...information(version), tags: documentTags() };
  // Plain JSON values, as readers get them: without undefined members.
  if (openapi === "3.1.0") return JSON.parse(JSON.stringify(app.getOpenAPI31Document(head)));
  return mendNullable(JSON.parse(JSON.stringify(app.getOpenAPIDocument(head))));
}

/** `x-displayName` is what the reference page shows. */
function documentTags() {
  return tags.map(({ title, ...tag }) => ({ ...tag, "x-displayName": title }));
}

/** Returns the document's description of the service as a whole. */
function information(version: string) {
  return {
    info: {
      title: "Demeter",
      version,
      description: paragraphs.join("\n\n"),
      license: {
        name: "Apache-2.0",
        url: "https://www.apache.org/licenses/LICENSE-2.0.html",
      },
      contact: { name: "The operator of this service" },
    },
    servers: [{ url: "http://127.0.0.1:8787", description: "A service with default settings" }],
  };
}

const paragraphs = [
  "Demeter is an LLM gateway: one address and one key in front of every model vendor. Each call is translated, limited, billed and recorded; each record can be exported, deleted and tied to a business outcome.",
  "**Keys.** `Authorization: Bearer dmt_…` everywhere; `X-API-Key` too, and `x-goog-api-key` on generate paths and lists of models. `Bearer dmt_…;VENDOR_KEY` uses your own vendor key for that call. A key may be limited to scopes; one without scopes may call every endpoint but administration.",
  "**Limits.** A token bucket per account: free has 60 requests per minute and a burst of 100, pro 600 and 1,000. Every authenticated answer carries `X-RateLimit-Limit`, `-Remaining` and `-Reset`; a 429 also `Retry-After`. A request body may be up to 32 MiB unless the operator sets another limit.",
  "**Retries.** Where the good answer of an operation has `X-Idempotent-Replay`, a request with `X-Request-ID` (or `Idempotency-Key`) can be repeated for 24 hours: the same body gets the stored answer, streams too, and is charged once.",
  "**Errors.** Every error has `message`, `type` and `code` as strings, and the fields that the clients of its dialect look for. A wrong path or method is a 404 `endpoint_not_found`; any other invalid request is a 400 that names the field by its path.",
  "**Prompt tags.** `/// APP`, `/// FLOW` and `/// COHORT` lines at the start of the first system or user text are recorded and removed before the vendor sees the prompt.",
];

/**
 * Corrects the generator's output for OpenAPI 3.0, where `nullable` has no effect without a `type`:
 * an unknown value becomes `{}`, and an alternative "null" makes the other alternatives nullable.
 */
function mendNullable<T>(value: T): T {
  if (Array.isArray(value)) return value.map(mendNullable) as T;
  if (typeof value !== "object" || value === null) return value;
  const mended: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    const [only, ...others] = isAlternatives(key, inner) ? alternatives(inner) : [];
    if (only === undefined) mended[key] = mendNullable(inner);
    else if (others.length > 0) mended[key] = [only, ...others];
    // The only one left is the schema itself, except for what the whole says about it.
    else Object.assign(mended, { ...only, ...mended });
  }
  if (mended.nullable === true && mended.type === undefined) delete mended.nullable;
  return mended as T;
}

type Schema = Record<string, unknown>;

function isAlternatives(key: string, value: unknown): value is Schema[] {
  return /^(anyOf|oneOf)$/.test(key) && Array.isArray(value);
}

function alternatives(schemas: readonly Schema[]): Schema[] {
  const others = schemas.filter((schema) => !isNull(schema)).map(mendNullable);
  if (others.length === schemas.length) return others;
  const typed = others.some((schema) => schema.type !== undefined);
  if (!typed) return [...others, emptyOrNull];
  return others.map((schema) => schema.type === undefined ? schema : { ...schema, nullable: true });
}

/** For null alone: from `enum: [null]` some generators make code that doesn't compile. */
const emptyOrNull = { type: "object", nullable: true, maxProperties: 0 };

/** Whether a schema is what the generator writes for the alternative "null". */
function isNull(schema: Schema): boolean {
  return schema.nullable === true && Object.keys(schema).length === 1;
}
