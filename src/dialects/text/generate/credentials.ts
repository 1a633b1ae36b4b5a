import type { CredentialField } from "../../kernel/credential_field.ts";

/** Those of MCP servers, in both spellings. */
export const credentialFields: readonly CredentialField[] = [
  ["mcpServers", "streamableHttpTransport"],
  ["mcp_servers", "streamable_http_transport"],
].flatMap(([servers, transport]) => {
  const at = ["tools", "*", servers!, "*", transport!];
  return [{ path: [...at, "headers", "*"] }, { path: [...at, "url"], isAddress: true as const }];
});
