/** The parts of an OpenAPI document that this folder uses. */
export interface Document {
  openapi: string;
  info: { version: string };
  servers: readonly { url: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown>; [kind: string]: unknown };
}

export interface Operation {
  operationId: string;
  description?: string;
  parameters?: (Parameter | Reference)[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Answer | Reference>;
}

export interface Parameter {
  name: string;
  in: string;
  description?: string;
  example?: unknown;
}

export interface Media {
  schema: unknown;
  examples?: Record<string, Example | Reference>;
}

export interface Answer {
  description: string;
  headers?: Record<string, Reference>;
  content?: Record<string, Media>;
}

export interface Example {
  summary?: string;
  value: unknown;
}

export interface Reference {
  $ref: string;
}

export function reference(kind: string, name: string): Reference {
  return { $ref: `#/components/${kind}/${name}` };
}
