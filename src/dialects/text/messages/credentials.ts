import type { CredentialField } from "../../kernel/credential_field.ts";

/** Those of MCP servers. */
export const credentialFields: readonly CredentialField[] = [
  { path: ["mcp_servers", "*", "authorization_token"] },
  { path: ["mcp_servers", "*", "url"], isAddress: true },
];
