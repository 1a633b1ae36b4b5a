import { z } from "@hono/zod-openapi";
import { defineContract } from "./contract.ts";

const open = { method: "get", tag: "operations", scope: null, dialect: "service" } as const;
const document = { "application/json": z.looseObject({}).openapi("OpenApiDocument") };

/** What this service is, for programs and for people; no key is asked for. */
export const documents = {
  current: defineContract({
    ...open,
    path: "/openapi.json",
    operationId: "getOpenApi",
    summary: "Get this document, OpenAPI 3.1",
    description: "`servers` names the address of the service that answers.",
    media: document,
  }),
  older: defineContract({
    ...open,
    path: "/openapi-3.0.json",
    operationId: "getOpenApi30",
    summary: "Get this document, OpenAPI 3.0.3",
    description: "For generators that don't take 3.1.",
    media: document,
  }),
  reference: defineContract({
    ...open,
    path: "/reference",
    operationId: "getReference",
    summary: "Show this document as a page",
    description: "Every operation can be tried against this service with a key that is typed in.",
    media: { "text/html": z.string().describe("The page.") },
  }),
};

/** Scripts and styles of the page; not an operation of the document. */
export const referenceFile = defineContract({
  ...open,
  path: "/reference/{file}",
  operationId: "getReferenceFile",
  summary: "Get a file of the reference page",
  params: z.object({ file: z.string() }),
  media: { "application/octet-stream": z.string() },
  errors: ["endpoint_not_found"],
});
