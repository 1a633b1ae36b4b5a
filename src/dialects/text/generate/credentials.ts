import type { CredentialField } from "../../kernel/credential_field.ts";
import { snakeCase } from "./request/fields.ts";

/** Those of the vendor's own tools and of MCP servers, of which a single one needs no array. */
export const credentialFields: readonly CredentialField[] = [
  ...["googleMaps.authConfig", "parallelAiSearch.apiKey", "exaAiSearch.apiKey"].flatMap(secrets),
  ...["retrieval.externalApi.apiAuth", "retrieval.externalApi.authConfig"].flatMap(secrets),
  ...addresses("retrieval.externalApi.endpoint"),
  ...["mcpServers.*", "mcpServers"].flatMap((server) => [
    ...secrets(`${server}.streamableHttpTransport.headers.*`),
    ...addresses(`${server}.streamableHttpTransport.url`),
  ]),
];

function secrets(inTool: string): CredentialField[] {
  return spellings(inTool.split(".")).map((path) => ({ path: ["tools", "*", ...path] }));
}

function addresses(inTool: string): CredentialField[] {
  return secrets(inTool).map((field) => ({ ...field, isAddress: true }));
}

/** The wire accepts each name in two spellings, whatever the spelling of the others. */
function spellings([name, ...rest]: readonly string[]): string[][] {
  if (name === undefined) return [[]];
  const names = new Set([name, snakeCase(name)]);
  return spellings(rest).flatMap((path) => [...names].map((one) => [one, ...path]));
}
