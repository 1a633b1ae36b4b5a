import type { CredentialField } from "../../kernel/credential_field.ts";

/** Those of MCP servers, which some vendors take as tools in the form of the responses dialect. */
export const credentialFields: readonly CredentialField[] = [
  { path: ["tools", "*", "authorization"] },
  { path: ["tools", "*", "headers", "*"] },
  { path: ["tools", "*", "server_url"], isAddress: true },
];
