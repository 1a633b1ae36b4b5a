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
  for (const contract of contracts) app.openAPIRegistry.registerPath(routeConfig(contract));
  const head = { openapi, ...information(version), tags: documentTags() };
  // As it will be read: plain values, without what is undefined.
  if (openapi === "3.1.0") return JSON.parse(JSON.stringify(app.getOpenAPI31Document(head)));
  return mendNullable(JSON.parse(JSON.stringify(app.getOpenAPIDocument(head))));
}

/** `x-displayName` is what the reference page shows. */
function documentTags() {
  return tags.map(({ title, ...tag }) => ({ ...tag, "x-displayName": title }));
}

/** What the document says of the service as a whole. */
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
  "**Retries.** A POST with `X-Request-ID` (or `Idempotency-Key`) can be repeated for 24 hours: the same body gets the stored answer, streams too, and is charged once.",
  "**Errors.** Every error has `message`, `type` and `code` as strings, and the fields that the clients of its dialect look for. A wrong path or method is a 404 `endpoint_not_found`; any other invalid request is a 400 that names the field by its path.",
  "**Prompt tags.** `/// APP`, `/// FLOW` and `/// COHORT` lines at the start of the first system or user text are recorded and removed before the vendor sees the prompt.",
];

/**
 * Mends what the generator writes for OpenAPI 3.0, where `nullable` means nothing without a `type`:
 * an unknown value is `{}`, and "or null" is a property of the alternatives beside it.
 */
function mendNullable<T>(value: T): T {
  if (Array.isArray(value)) return value.map(mendNullable) as T;
  if (typeof value !== "object" || value === null) return value;
  const mended: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    mended[key] = isAlternatives(key, inner) ? alternatives(inner) : mendNullable(inner);
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

/** Null alone would be `enum: [null]`, from which some generators make what doesn't compile. */
const emptyOrNull = { type: "object", nullable: true, maxProperties: 0 };

/** How the generator writes the alternative "null". */
function isNull(schema: Schema): boolean {
  return schema.nullable === true && Object.keys(schema).length === 1;
}
